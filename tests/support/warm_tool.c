/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter of Python for tests, which start Tilewright hundreds of times.
 *
 * `-m tilewright ...` and the script make_model.py run in a fork of the process of warm_tool.py,
 * which has imported everything and listens beside this program. Everything else, all of it where
 * no process listens, and what a variable PYTHON... may change, is run by the interpreter that the
 * file `interpreter` beside this program names.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

enum { FAILED = 125, FILES = 3 };

static const char *const script = "/make_model.py";

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static int is_warm_command(int count, char **words)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "PYTHON", 6) == 0 && strncmp(*variable, "PYTHONPATH=", 11) != 0 &&
            strncmp(*variable, "PYTHONDONTWRITEBYTECODE=", 24) != 0 &&
            strncmp(*variable, "PYTHONUNBUFFERED=", 17) != 0) {
            return 0;
        }
    }
    if (count >= 3 && strcmp(words[1], "-m") == 0 && strcmp(words[2], "tilewright") == 0) {
        return 1;
    }
    return count >= 2 && ends_with(words[1], script);
}

static _Noreturn void run_interpreter(const char *folder, char **words)
{
    char name[PATH_MAX + 16];
    char interpreter[PATH_MAX];
    snprintf(name, sizeof name, "%s/interpreter", folder);
    FILE *const file = fopen(name, "r");
    if (file == NULL || fgets(interpreter, sizeof interpreter, file) == NULL) {
        perror(name);
        exit(FAILED);
    }
    fclose(file);
    interpreter[strcspn(interpreter, "\n")] = '\0';
    words[0] = interpreter;
    execv(interpreter, words);
    perror(interpreter);
    exit(FAILED);
}

/* A connection with the process that listens in `folder`, or -1. A socket's path is short, so it is
 * a relative one. */
static int connected(const char *folder, const char *here)
{
    const int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    if (end < 0 || chdir(folder) != 0) {
        return -1;
    }
    const int status = connect(end, (const struct sockaddr *)&address, sizeof address);
    if (chdir(here) != 0 || status != 0) {
        close(end);
        return -1;
    }
    return end;
}

/* This process's standard files, with one byte that stands for them. */
static int send_files(int end)
{
    const int files[FILES] = {0, 1, 2};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof files)];
    } control = {0};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(header), files, sizeof files);
    return sendmsg(end, &message, MSG_NOSIGNAL) == 1;
}

static void append(FILE *text, const char *word)
{
    fwrite(word, 1, strlen(word) + 1, text);
}

/* Bytes in front, then strings that end with 0: folder, number of words, words, variables. */
static int send_text(int end, const char *here, int count, char **words)
{
    char *content = NULL;
    size_t bytes = 0;
    FILE *const text = open_memstream(&content, &bytes);
    if (text == NULL) {
        return 0;
    }
    const uint32_t none = 0;
    fwrite(&none, sizeof none, 1, text);
    append(text, here);
    fprintf(text, "%d%c", count, 0);
    for (int word = 0; word < count; word++) {
        append(text, words[word]);
    }
    for (char **variable = environ; *variable != NULL; variable++) {
        append(text, *variable);
    }
    fclose(text);
    const uint32_t length = (uint32_t)(bytes - sizeof none);
    memcpy(content, &length, sizeof length);
    size_t sent = 0;
    while (sent < bytes) {
        const ssize_t part = send(end, content + sent, bytes - sent, MSG_NOSIGNAL);
        if (part <= 0) {
            return 0;
        }
        sent += (size_t)part;
    }
    free(content);
    return 1;
}

int main(int count, char **words)
{
    char folder[PATH_MAX];
    char here[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0) {
        perror("/proc/self/exe");
        return FAILED;
    }
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    if (!is_warm_command(count, words) || getcwd(here, sizeof here) == NULL) {
        run_interpreter(folder, words);
    }
    const int end = connected(folder, here);
    if (end < 0) {
        run_interpreter(folder, words);
    }
    int32_t status = 0;
    if (!send_files(end) || !send_text(end, here, count, words) ||
        recv(end, &status, sizeof status, MSG_WAITALL) != sizeof status) {
        fputs("warm_tool: the process ended without a status\n", stderr);
        return FAILED;
    }
    return status;
}
