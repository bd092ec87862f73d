"""Frames of a WebSocket (RFC 6455, section 5), as a client sends and reads them."""

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


def handshake(token, headers=(), path="/mcp/ws"):
    """The request that opens one; the token goes in the Authorization header, unless it is None."""
    shown = [f"Authorization: Bearer {token}"] if token is not None else []
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *shown, "Upgrade: websocket", "Connection: Upgrade",
                        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *headers, "", ""])


def frame(payload, opcode=TEXT, last=True, masked=True, reserved=0, said=None):
    """A client's frame; `said` is what its head says of its length, when that is not so."""
    size = len(payload) if said is None else said
    head = bytes([(128 if last else 0) | reserved << 4 | opcode])
    mask_bit = 128 if masked else 0
    if size < 126:
        head += bytes([mask_bit | size])
    elif size < 1 << 16:
        head += bytes([mask_bit | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([mask_bit | 127]) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = b"\x37\xfa\x21\x3d"
    key = int.from_bytes((mask * (len(payload) // 4 + 1))[:len(payload)], "big")
    return head + mask + (int.from_bytes(payload, "big") ^ key).to_bytes(len(payload), "big")


def read_frame(take):
    """(opcode, payload) of the server's next frame, which is whole and not masked; `take(n)` gives its next n bytes."""
    first, size = take(2)
    assert first & 0xF0 == 0x80 and size < 128, (first, size)
    if size > 125:
        size = int.from_bytes(take(2 if size == 126 else 8), "big")
    return first & 0x0F, take(size)
