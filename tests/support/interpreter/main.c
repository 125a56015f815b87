/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter [--turn <instructions>] [--copies early|late] [--l1 <bytes>] [--most <instructions>]
 *             [--operations] <program>
 * Runs a program and ends with its exit status; --operations names what it executed. Without a
 * program, --operations names all that the interpreter knows. --expand reads short instructions
 * from standard input and prints what each stands for, in hexadecimal. */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    uint32_t turn, l1_size;
    uint64_t most;
    int is_late, has_list;
    const char *program;
};

static uint64_t number_of(const char *text)
{
    return text != NULL ? strtoull(text, NULL, 0) : 0u;
}

/* 0: not understood. */
static int read_options(struct options *options, char **words)
{
    for (; *words != NULL; words++) {
        const char *word = *words;
        if (strcmp(word, "--operations") == 0) {
            options->has_list = 1;
        } else if (word[0] != '-') {
            options->program = word;
        } else if (words[1] == NULL) {
            return 0;
        } else if (strcmp(word, "--turn") == 0) {
            options->turn = (uint32_t)number_of(*++words);
        } else if (strcmp(word, "--copies") == 0) {
            options->is_late = strcmp(*++words, "late") == 0;
        } else if (strcmp(word, "--l1") == 0) {
            options->l1_size = (uint32_t)number_of(*++words);
        } else if (strcmp(word, "--most") == 0) {
            options->most = number_of(*++words);
        } else {
            return 0;
        }
    }
    return options->program != NULL || options->has_list;
}

static int expand_all(void)
{
    unsigned int word;
    while (scanf("%x", &word) == 1) {
        printf("%08x\n", expanded((uint16_t)word));
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {
        .turn = 50, .l1_size = 0x10000, .most = 4000000000u, .is_late = 1, .program = NULL};
    if (argc == 2 && strcmp(argv[1], "--expand") == 0) {
        return expand_all();
    }
    if (!read_options(&options, argv + 1)) {
        (void)fprintf(stderr, "interpreter: wrong arguments\n");
        return MACHINE_NO_PROGRAM;
    }
    if (options.program == NULL) {
        print_operations(1);
        return 0;
    }
    struct machine *machine =
        machine_open(options.program, options.l1_size, options.turn, options.is_late);
    if (machine == NULL) {
        (void)fprintf(stderr, "interpreter: %s is no program for pulp-open\n", options.program);
        return MACHINE_NO_PROGRAM;
    }
    const int status = machine_run(machine, options.most);
    if (options.has_list) {
        print_operations(0);
    }
    machine_close(machine);
    return status;
}
