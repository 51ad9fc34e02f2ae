/* Record every change of files below TORTURE_ROOT, in the order in which they were made, into TORTURE_JOURNAL, and
 * let some of them fail, as a disk does that is full, broken or read-only. Loaded with LD_PRELOAD. The journal is what
 * a disk would have been told: power.py loses parts of it. The clock is moved by the seconds in TORTURE_CLOCK. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILES 4096
static char paths[MOST_FILES][512];
static int journal = -1;
static const char *root;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static void begin(void) {
    if (journal >= 0) return;
    root = getenv("TORTURE_ROOT");
    const char *file = getenv("TORTURE_JOURNAL");
    if (!root || !file) { journal = -2; return; }
    journal = REAL(int (*)(const char *, int, ...), "open")(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
}
/* Which calls fail: those of one kind ('S' sync, 'W' write, 'O' whatever opens or changes names), after so many that
 * do not, and so many of them. Called from Python; returns how many calls of that kind were counted since the last. */
static char failing_kind;
static long failing_after, failing_times, failing_seen;
long torture_fail(char kind, long after, long times) {
    long seen = failing_seen;
    failing_kind = kind; failing_after = after; failing_times = times; failing_seen = 0;
    return seen; }
static int fails(char kind) {
    if (kind != failing_kind) return 0;
    long number = __sync_fetch_and_add(&failing_seen, 1);
    return number >= failing_after && number < failing_after + failing_times; }
static int refuse(int error) { errno = error; return -1; }
static int below(const char *path) { return root && path && !strncmp(path, root, strlen(root)); }
static void put(const void *data, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t (*)(int, const void *, size_t), "write");
    while (size) { ssize_t n = real(journal, data, size); if (n <= 0) _exit(99); data = (const char *)data + n; size -= n; }
}
/* A record: kind, length of the path, offset, length of the data; then the path and the data. */
static void note(char kind, const char *path, int64_t offset, const void *data, int64_t size) {
    if (journal < 0) return;
    pthread_mutex_lock(&guard);
    int64_t head[3] = {(int64_t)strlen(path), offset, size};
    put(&kind, 1); put(head, sizeof head); put(path, head[0]);
    if (size) put(data, size);
    pthread_mutex_unlock(&guard);
}
static int changes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC); }
static int forbidden(const char *path) { begin(); return below(path) && fails('O'); }
static void opened(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= MOST_FILES) return;
    paths[fd][0] = 0;
    begin();
    if (!below(path)) return;
    strncpy(paths[fd], path, 511);
    if (flags & O_CREAT) note('C', path, 0, "", 0);
    if (flags & O_TRUNC) note('T', path, 0, "", 0);
}
#define OPEN(name) int name(const char *path, int flags, ...) { \
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
    if (changes(flags) && forbidden(path)) return refuse(EROFS); \
    int fd = REAL(int (*)(const char *, int, ...), #name)(path, flags, mode); opened(fd, path, flags); return fd; }
OPEN(open) OPEN(open64)
int openat(int at, const char *path, int flags, ...) {
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more);
    int fd = REAL(int (*)(int, const char *, int, ...), "openat")(at, path, flags, mode); opened(fd, path, flags); return fd; }
int close(int fd) { if (fd >= 0 && fd < MOST_FILES) paths[fd][0] = 0; return REAL(int (*)(int), "close")(fd); }
static int known(int fd) { return fd >= 0 && fd < MOST_FILES && paths[fd][0]; }
ssize_t write(int fd, const void *data, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = REAL(ssize_t (*)(int, const void *, size_t), "write");
    if (!known(fd)) return real(fd, data, size);
    if (fails('W')) return refuse(ENOSPC);
    int64_t at = lseek(fd, 0, SEEK_CUR);
    struct stat state;
    if (fcntl(fd, F_GETFL) & O_APPEND) { fstat(fd, &state); at = state.st_size; }
    ssize_t done = real(fd, data, size);
    if (done > 0) note('W', paths[fd], at, data, done);
    return done; }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!known(fd)) return REAL(ssize_t (*)(int, const struct iovec *, int), "writev")(fd, parts, count);
    ssize_t all = 0;
    for (int i = 0; i < count; i++) { ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len); if (n < 0) return all ? all : n; all += n; }
    return all; }
#define PWRITE(name) ssize_t name(int fd, const void *data, size_t size, off_t at) { \
    if (known(fd) && fails('W')) return refuse(ENOSPC); \
    ssize_t done = REAL(ssize_t (*)(int, const void *, size_t, off_t), #name)(fd, data, size, at); \
    if (done > 0 && known(fd)) note('W', paths[fd], at, data, done); return done; }
PWRITE(pwrite) PWRITE(pwrite64)
#define TRUNCATE(name) int name(int fd, off_t size) { \
    int done = REAL(int (*)(int, off_t), #name)(fd, size); if (!done && known(fd)) note('T', paths[fd], size, "", 0); return done; }
TRUNCATE(ftruncate) TRUNCATE(ftruncate64)
#define SYNC(name) int name(int fd) { \
    if (known(fd) && fails('S')) { note('F', paths[fd], 0, "", 0); return refuse(EIO); } \
    int done = REAL(int (*)(int), #name)(fd); if (!done && known(fd)) note('S', paths[fd], 0, "", 0); return done; }
SYNC(fsync) SYNC(fdatasync)
int rename(const char *from, const char *to) {
    if (forbidden(to)) return refuse(EROFS);
    int done = REAL(int (*)(const char *, const char *), "rename")(from, to);
    begin(); if (!done && below(to)) note('R', from, 0, to, strlen(to)); return done; }
int unlink(const char *path) {
    if (forbidden(path)) return refuse(EROFS);
    int done = REAL(int (*)(const char *), "unlink")(path);
    begin(); if (!done && below(path)) note('U', path, 0, "", 0); return done; }
/* The clock: what it says plus the seconds that stand in a file, which others write while this runs. */
static long moved(void) {
    static volatile int64_t *seconds;
    static int tried;
    if (!tried) {
        tried = 1;
        const char *file = getenv("TORTURE_CLOCK");
        int fd = file ? REAL(int (*)(const char *, int, ...), "open")(file, O_RDONLY) : -1;
        void *held = fd < 0 ? MAP_FAILED : mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, fd, 0);
        if (held != MAP_FAILED) seconds = held;
    }
    return seconds ? (long)*seconds : 0; }
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = REAL(int (*)(clockid_t, struct timespec *), "clock_gettime");
    int done = real(clock, now);
    if (!done && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += moved();
    return done; }
int gettimeofday(struct timeval *now, void *zone) {
    int done = REAL(int (*)(struct timeval *, void *), "gettimeofday")(now, zone);
    if (!done) now->tv_sec += moved();
    return done; }
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec; }
