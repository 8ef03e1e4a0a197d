/* The beginning of the AppImage: mounts the compressed image behind itself and starts what is in it.

   Linked statically with squashfuse, libfuse 3 and liblzma (appimage_runtime.py), so that a system needs
   none of them.  Where nothing can be mounted (no /dev/fuse, no fusermount3) it unpacks into a temporary
   folder, starts the program there and removes the folder afterwards; --appimage-extract-and-run asks for
   that.  --appimage-extract unpacks into ./squashfs-root, --appimage-offset says where the image begins. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <squashfuse/config.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <squashfuse/ll.h>

/* The image is packed with xz; other ways of packing are refused instead of linked. */
int LZ4_decompress_safe(const char *in, char *out, int size, int room) { return -1; }
int lzo1x_decompress_safe(const unsigned char *in, unsigned long size, unsigned char *out, unsigned long *room,
                          void *work) { return -1; }
size_t ZSTD_decompress(void *out, size_t room, const void *in, size_t size) { return (size_t)-1; }
unsigned ZSTD_isError(size_t code) { return 1; }

static char self[PATH_MAX];
static char mountpoint[PATH_MAX];
static struct fuse_session *session;
static int alive[2]; /* its other end is closed when the program and all it started have ended */

static void fail(const char *what) {
    fprintf(stderr, "inferometer AppImage: %s: %s\n", what, strerror(errno));
    exit(127);
}

/* Where the ELF file ends and the image begins. */
static size_t image_offset(void) {
    Elf64_Ehdr head;
    int file = open(self, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, &head, sizeof head) != (ssize_t)sizeof head) fail(self);
    close(file);
    return head.e_shoff + (size_t)head.e_shentsize * head.e_shnum;
}

static void make_folder(char *path, const char *name) {
    const char *place = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/%s-XXXXXX", place && *place ? place : "/tmp", name);
    if (!mkdtemp(path)) fail(path);
}

static void run(const char *folder, char **arguments) {
    char program[PATH_MAX + 16];
    snprintf(program, sizeof program, "%s/AppRun", folder);
    setenv("APPIMAGE", self, 1);
    setenv("APPDIR", folder, 1);
    setenv("ARGV0", arguments[0], 1);
    execv(program, arguments);
    fail(program);
}

/* -- mounting ---------------------------------------------------------------------------------- */

static void *unmount_when_done(void *unused) {
    char byte;
    while (read(alive[0], &byte, 1) < 0 && errno == EINTR) {}
    fuse_session_exit(session);
    fuse_session_unmount(session);
    rmdir(mountpoint);
    _exit(0); /* also where it could not be unmounted: nobody stays behind */
    return unused;
}

/* A block of the image is a mebibyte, and the library keeps one of data and three of small files: a start
   reads many files in turn, and would unpack each block again and again. */
static void keep_more(sqfs *image) {
    sqfs_cache_destroy(&image->data_cache);
    sqfs_cache_destroy(&image->frag_cache);
    if (sqfs_block_cache_init(&image->data_cache, 64) || sqfs_block_cache_init(&image->frag_cache, 16)) _exit(1);
}

/* Serves the image until the program has ended; says one byte when it can be read. */
static void serve(size_t offset, int ready) {
    struct fuse_lowlevel_ops ops = {
        .getattr = sqfs_ll_op_getattr, .opendir = sqfs_ll_op_opendir, .releasedir = sqfs_ll_op_releasedir,
        .readdir = sqfs_ll_op_readdir, .lookup = sqfs_ll_op_lookup, .open = sqfs_ll_op_open,
        .create = sqfs_ll_op_create, .release = sqfs_ll_op_release, .read = sqfs_ll_op_read,
        .readlink = sqfs_ll_op_readlink, .listxattr = sqfs_ll_op_listxattr, .getxattr = sqfs_ll_op_getxattr,
        .forget = sqfs_ll_op_forget, .statfs = stfs_ll_op_statfs,
    };
    char *options[] = {"inferometer", "-oro,nodev,nosuid,fsname=inferometer"};
    struct fuse_args arguments = FUSE_ARGS_INIT(2, options);
    sqfs_ll *image = sqfs_ll_open(self, offset);
    sqfs_ll_chan channel;
    pthread_t watcher;
    if (!image || sqfs_ll_mount(&channel, mountpoint, &arguments, &ops, sizeof ops, image) != SQFS_OK) _exit(1);
    session = channel.session;
    keep_more(&image->fs);
    if (pthread_create(&watcher, NULL, unmount_when_done, NULL) || write(ready, "1", 1) != 1) _exit(1);
    close(ready);
    setsid(); /* a key that interrupts the program shall not take its files away */
    signal(SIGHUP, SIG_IGN);
    fuse_session_loop(session);
    fuse_session_unmount(session);
    rmdir(mountpoint);
    _exit(0);
}

/* Mounts and starts; comes back when that cannot be done. */
static void mount_and_run(size_t offset, char **arguments) {
    int ready[2];
    char byte;
    if (access("/dev/fuse", R_OK | W_OK)) return;
    make_folder(mountpoint, ".mount_inferometer");
    if (pipe(ready) || pipe(alive)) fail("pipe");
    pid_t server = fork();
    if (server < 0) fail("fork");
    if (server == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        close(ready[0]);
        close(alive[1]);
        if (fork()) _exit(0); /* nobody waits for it */
        for (int stream = 0; stream < 3; stream++) dup2(nowhere, stream);
        serve(offset, ready[1]);
    }
    close(ready[1]);
    close(alive[0]);
    waitpid(server, NULL, 0);
    ssize_t told = read(ready[0], &byte, 1);
    close(ready[0]);
    if (told == 1) run(mountpoint, arguments); /* alive[1] stays open in it and in what it starts */
    close(alive[1]);
    rmdir(mountpoint);
}

/* -- unpacking --------------------------------------------------------------------------------- */

static void write_file(sqfs *image, sqfs_inode *inode, const char *path) {
    static char data[1 << 20];
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, inode->base.mode & 0777);
    if (file < 0) fail(path);
    for (uint64_t at = 0; at < inode->xtra.reg.file_size;) {
        sqfs_off_t size = sizeof data;
        if (sqfs_read_range(image, inode, at, &size, data) || size <= 0) { errno = EIO; fail(path); }
        if (write(file, data, size) != size) fail(path);
        at += size;
    }
    close(file);
}

static void unpack(size_t offset, const char *folder) {
    sqfs image;
    sqfs_traverse walk;
    sqfs_err error = SQFS_OK;
    errno = EIO;
    if (sqfs_open_image(&image, self, offset) ||
        sqfs_traverse_open(&walk, &image, sqfs_inode_root(&image))) fail(self);
    while (sqfs_traverse_next(&walk, &error)) {
        char path[PATH_MAX], target[PATH_MAX];
        size_t room = sizeof target;
        sqfs_inode inode;
        if (walk.dir_end) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, walk.path) >= (int)sizeof path) fail(walk.path);
        if (sqfs_inode_get(&image, &inode, walk.entry.inode)) fail(path);
        if (S_ISDIR(inode.base.mode)) {
            if (mkdir(path, 0755)) fail(path);
        } else if (S_ISLNK(inode.base.mode)) {
            if (sqfs_readlink(&image, &inode, target, &room) || symlink(target, path)) fail(path);
        } else if (S_ISREG(inode.base.mode)) {
            write_file(&image, &inode, path);
        }
    }
    if (error) fail(self);
    sqfs_traverse_close(&walk);
}

static int drop(const char *path, const struct stat *about, int kind, struct FTW *where) { return remove(path); }

static void unpack_and_run(size_t offset, char **arguments) {
    char folder[PATH_MAX];
    int status;
    make_folder(folder, "inferometer");
    unpack(offset, folder);
    pid_t program = fork();
    if (program < 0) fail("fork");
    if (program == 0) run(folder, arguments);
    signal(SIGINT, SIG_IGN); /* the program's to follow; the folder is removed afterwards */
    signal(SIGTERM, SIG_IGN);
    while (waitpid(program, &status, 0) < 0 && errno == EINTR) {}
    nftw(folder, drop, 32, FTW_DEPTH | FTW_PHYS);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int count, char **arguments) {
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) fail("/proc/self/exe");
    size_t offset = image_offset();
    const char *first = count > 1 ? arguments[1] : "";
    if (!strcmp(first, "--appimage-offset")) return printf("%zu\n", offset) < 0;
    if (!strcmp(first, "--appimage-extract")) {
        if (mkdir("squashfs-root", 0755)) fail("squashfs-root");
        unpack(offset, "squashfs-root");
        return 0;
    }
    if (!strcmp(first, "--appimage-extract-and-run")) {
        arguments[1] = arguments[0];
        unpack_and_run(offset, arguments + 1);
    }
    mount_and_run(offset, arguments);
    unpack_and_run(offset, arguments);
}
