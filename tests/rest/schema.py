"""The part of JSON Schema 2020-12 that docs/openapi.json uses. A keyword it does not know is an error: what is written
is checked."""
import re

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "minimum",
         "pattern", "description", "default"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float),
         "integer": int}


def is_of(value, name):
    if isinstance(name, list):
        return any(is_of(value, each) for each in name)
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


class Checker:
    def __init__(self, document):
        self.document = document

    def resolve(self, ref):
        found = self.document
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
        return found

    def faults(self, value, schema, at="answer"):
        """Everything wrong with a value, as lines."""
        unknown = set(schema) - KNOWN
        if unknown:
            return [f"{at}: the schema has {unknown}, which this checker does not know"]
        if "$ref" in schema:
            return self.faults(value, self.resolve(schema["$ref"]), at)
        found = []
        if "anyOf" in schema and all(self.faults(value, each, at) for each in schema["anyOf"]):
            found.append(f"{at}: {value!r} is none of what it may be")
        if "type" in schema and not is_of(value, schema["type"]):
            return found + [f"{at}: {value!r} is not of type {schema['type']}"]
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{at}: {value!r} is not one of {schema['enum']}")
        if "const" in schema and value != schema["const"]:
            found.append(f"{at}: {value!r} is not {schema['const']!r}")
        if "minimum" in schema and value < schema["minimum"]:
            found.append(f"{at}: {value} is below {schema['minimum']}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{at}: {value!r} does not match {schema['pattern']}")
        if isinstance(value, dict):
            found += self.members(value, schema, at)
        if isinstance(value, list) and "items" in schema:
            for number, each in enumerate(value):
                found += self.faults(each, schema["items"], f"{at}[{number}]")
        return found

    def members(self, value, schema, at):
        properties = schema.get("properties", {})
        found = [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
        others = schema.get("additionalProperties", True)
        for name, each in value.items():
            if name in properties:
                found += self.faults(each, properties[name], f"{at}.{name}")
            elif others is False:
                found.append(f"{at}: {name} is not in the schema")
            elif isinstance(others, dict):
                found += self.faults(each, others, f"{at}.{name}")
        return found
