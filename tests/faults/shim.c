/* Preloaded into a node: makes chosen system calls on chosen files fail, or do only half of what they should.
 *
 * The rules are in a file that the driver maps, too: it arms them while the node runs and reads how often they hit. The
 * environment variable SKEIN_FAULTS names the file; helpers of the node, which do not get that variable, are untouched.
 * The real calls are made by number, so nothing has to be looked up and nothing is called twice. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RULES = 4, PATH_BYTES = 104 };
enum op { OP_WRITE = 1, OP_SYNC, OP_RENAME, OP_OPEN, OP_TRUNCATE, OP_ACCEPT, OP_UNLINK, OP_READ, OP_ROOM };
enum mode { MODE_FAIL, MODE_SHORT, MODE_TORN };

/* faults.py has the same layout. */
struct rule {
  uint32_t armed;
  uint32_t op;
  int32_t error;
  uint32_t mode;
  uint32_t skip;  /* calls that fit and are let through first */
  uint32_t times; /* then so many fail; 0: all of them */
  uint32_t seen;
  uint32_t hits;
  char path[PATH_BYTES]; /* a part of the path; with '$' at its end, the end of the path */
};

static struct rule* rules;

__attribute__((constructor)) static void map_rules(void) {
  const char* name = getenv("SKEIN_FAULTS");
  if (!name) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC, 0);
  if (fd < 0) return;
  void* at = mmap(NULL, RULES * sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  syscall(SYS_close, fd);
  if (at != MAP_FAILED) rules = at;
}

static int fits(const struct rule* rule, const char* path) {
  size_t length = strlen(rule->path);
  if (length == 0 || rule->path[length - 1] != '$') return strstr(path, rule->path) != NULL;
  size_t path_length = strlen(path);
  return path_length >= length - 1 && strncmp(path + path_length - (length - 1), rule->path, length - 1) == 0;
}

/* The rule that hits this call, or NULL. */
static const struct rule* hit(enum op op, const char* path, const char* other) {
  for (int i = 0; rules && i < RULES; ++i) {
    struct rule* rule = &rules[i];
    if (!__atomic_load_n(&rule->armed, __ATOMIC_ACQUIRE) || rule->op != (uint32_t)op) continue;
    if (!fits(rule, path) && !(other && fits(rule, other))) continue;
    uint32_t seen = __atomic_fetch_add(&rule->seen, 1, __ATOMIC_RELAXED);
    if (seen < rule->skip || (rule->times && seen >= rule->skip + rule->times)) continue;
    __atomic_fetch_add(&rule->hits, 1, __ATOMIC_RELAXED);
    return rule;
  }
  return NULL;
}

static int is_armed(enum op op) {
  for (int i = 0; rules && i < RULES; ++i) {
    if (__atomic_load_n(&rules[i].armed, __ATOMIC_ACQUIRE) && rules[i].op == (uint32_t)op) return 1;
  }
  return 0;
}

static const struct rule* hit_fd(enum op op, int fd) {
  if (!is_armed(op)) return NULL;
  char link[48], path[4096];
  int kept = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = kept;
  if (length <= 0) return NULL;
  path[length] = 0;
  return hit(op, path, NULL);
}

static int fail(const struct rule* rule) {
  errno = rule->error;
  return -1;
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  const struct rule* rule = hit_fd(OP_WRITE, fd);
  if (rule && rule->mode == MODE_FAIL) return fail(rule);
  if (rule && rule->mode == MODE_TORN) {
    syscall(SYS_pwrite64, fd, bytes, count / 2, offset);
    return fail(rule);
  }
  return syscall(SYS_pwrite64, fd, bytes, rule && count > 1 ? count / 2 : count, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) { return pwrite(fd, bytes, count, offset); }

ssize_t write(int fd, const void* bytes, size_t count) {
  const struct rule* rule = hit_fd(OP_WRITE, fd);
  if (rule && rule->mode == MODE_FAIL) return fail(rule);
  if (rule && rule->mode == MODE_TORN) {
    syscall(SYS_write, fd, bytes, count / 2);
    return fail(rule);
  }
  return syscall(SYS_write, fd, bytes, rule && count > 1 ? count / 2 : count);
}

ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  const struct rule* rule = hit_fd(OP_READ, fd);
  if (rule && rule->mode != MODE_SHORT) return fail(rule);
  return syscall(SYS_pread64, fd, bytes, rule && count > 1 ? count / 2 : count, offset);
}
ssize_t pread64(int fd, void* bytes, size_t count, off_t offset) { return pread(fd, bytes, count, offset); }

int fdatasync(int fd) {
  const struct rule* rule = hit_fd(OP_SYNC, fd);
  return rule ? fail(rule) : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd) {
  const struct rule* rule = hit_fd(OP_SYNC, fd);
  return rule ? fail(rule) : (int)syscall(SYS_fsync, fd);
}

int ftruncate(int fd, off_t length) {
  const struct rule* rule = hit_fd(OP_TRUNCATE, fd);
  return rule ? fail(rule) : (int)syscall(SYS_ftruncate, fd, length);
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int how, off_t offset, off_t length) {
  const struct rule* rule = hit_fd(OP_TRUNCATE, fd);
  return rule ? fail(rule) : (int)syscall(SYS_fallocate, fd, how, offset, length);
}
int fallocate64(int fd, int how, off_t offset, off_t length) { return fallocate(fd, how, offset, length); }

int rename(const char* from, const char* to) {
  const struct rule* rule = hit(OP_RENAME, from, to);
  return rule ? fail(rule) : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  const struct rule* rule = hit(OP_RENAME, from, to);
  return rule ? fail(rule) : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int unlink(const char* path) {
  const struct rule* rule = hit(OP_UNLINK, path, NULL);
  return rule ? fail(rule) : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
  va_end(more);
  const struct rule* rule = hit(OP_OPEN, path, NULL);
  return rule ? fail(rule) : (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
  va_end(more);
  return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
  va_end(more);
  return openat(AT_FDCWD, path, flags, mode);
}

int accept4(int fd, struct sockaddr* address, socklen_t* length, int flags) {
  const struct rule* rule = hit(OP_ACCEPT, "", NULL);
  return rule ? fail(rule) : (int)syscall(SYS_accept4, fd, address, length, flags);
}

/* A disk without room, as far as anybody who asks can tell. */
int statvfs(const char* path, struct statvfs* about) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return -1;
  int done = fstatvfs(fd, about);
  syscall(SYS_close, fd);
  if (done == 0 && hit(OP_ROOM, path, NULL)) about->f_bavail = about->f_bfree = 0;
  return done;
}
