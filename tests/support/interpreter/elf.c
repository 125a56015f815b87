/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: 32-bit little-endian ELF for RISC-V. Bytes go where their segments say, code and
 * constants are told apart by sections, names of functions come from the symbols. */
#include "machine.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *file_of(const char *path, uint64_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    uint8_t *content = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long end = ftell(file);
        rewind(file);
        content = end > 0 ? malloc((size_t)end) : NULL;
        *size = end > 0 ? (uint64_t)end : 0u;
    }
    if (content != NULL && fread(content, 1, (size_t)*size, file) != *size) {
        free(content);
        content = NULL;
    }
    (void)fclose(file);
    return content;
}

static int is_inside(const struct machine *machine, uint64_t offset, uint64_t bytes)
{
    return offset <= machine->file_size && bytes <= machine->file_size - offset;
}

static int is_program(const struct machine *machine, const Elf32_Ehdr *header)
{
    return machine->file_size >= sizeof *header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS32 && header->e_machine == EM_RISCV &&
           header->e_phentsize == sizeof(Elf32_Phdr) && header->e_shentsize == sizeof(Elf32_Shdr) &&
           is_inside(machine, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf32_Phdr)) &&
           is_inside(machine, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf32_Shdr));
}

static int load_segment(struct machine *machine, const Elf32_Phdr *segment)
{
    if (segment->p_type != PT_LOAD || segment->p_memsz == 0u) {
        return 1;
    }
    uint8_t *to = machine_memory(machine, segment->p_paddr, segment->p_memsz);
    if (to == NULL || segment->p_filesz > segment->p_memsz ||
        !is_inside(machine, segment->p_offset, segment->p_filesz)) {
        return 0;
    }
    memset(to, 0, segment->p_memsz);
    memcpy(to, machine->file + segment->p_offset, segment->p_filesz);
    return 1;
}

/* A read-only section may share the two bytes at its ends with others: only whole pairs count. */
static void mark_section(struct machine *machine, const Elf32_Shdr *section)
{
    const uint32_t begin = section->sh_addr - L2_BASE;
    if ((section->sh_flags & SHF_ALLOC) == 0u || (section->sh_flags & SHF_WRITE) != 0u ||
        begin >= L2_SIZE || section->sh_size > L2_SIZE - begin) {
        return;
    }
    const int is_code = (section->sh_flags & SHF_EXECINSTR) != 0u;
    memset(machine->use + (begin + 1u) / 2u, is_code ? USE_CODE : USE_CONSTANT,
           (begin + section->sh_size) / 2u - (begin + 1u) / 2u);
}

static int load_symbols(struct machine *machine, const Elf32_Shdr *table, const Elf32_Shdr *names)
{
    const uint64_t count = table->sh_size / sizeof(Elf32_Sym);
    if (!is_inside(machine, table->sh_offset, table->sh_size) ||
        !is_inside(machine, names->sh_offset, names->sh_size) || names->sh_size == 0u ||
        machine->file[names->sh_offset + names->sh_size - 1u] != 0u) {
        return 0;
    }
    machine->symbols = calloc((size_t)count + 1u, sizeof *machine->symbols);
    if (machine->symbols == NULL) {
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        Elf32_Sym symbol;
        memcpy(&symbol, machine->file + table->sh_offset + i * sizeof symbol, sizeof symbol);
        if (symbol.st_name >= names->sh_size) {
            return 0;
        }
        machine->symbols[machine->symbol_count++] = (struct symbol){
            (const char *)machine->file + names->sh_offset + symbol.st_name, symbol.st_value,
            symbol.st_size, ELF32_ST_TYPE(symbol.st_info) == STT_FUNC};
    }
    return 1;
}

static int load_sections(struct machine *machine, const Elf32_Ehdr *header)
{
    Elf32_Shdr *sections = calloc(header->e_shnum + 1u, sizeof *sections);
    int is_loaded = sections != NULL;
    for (uint32_t i = 0; is_loaded && i < header->e_shnum; i++) {
        memcpy(&sections[i], machine->file + header->e_shoff + i * sizeof *sections,
               sizeof *sections);
        mark_section(machine, &sections[i]);
    }
    for (uint32_t i = 0; is_loaded && i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum) {
            is_loaded = load_symbols(machine, &sections[i], &sections[sections[i].sh_link]);
        }
    }
    free(sections);
    return is_loaded;
}

int load_program(struct machine *machine, const char *path)
{
    Elf32_Ehdr header = {0};
    machine->file = file_of(path, &machine->file_size);
    if (machine->file == NULL) {
        return 0;
    }
    memcpy(&header, machine->file,
           machine->file_size < sizeof header ? (size_t)machine->file_size : sizeof header);
    if (!is_program(machine, &header)) {
        return 0;
    }
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        Elf32_Phdr segment;
        memcpy(&segment, machine->file + header.e_phoff + i * sizeof segment, sizeof segment);
        if (!load_segment(machine, &segment)) {
            return 0;
        }
    }
    machine->entry = header.e_entry;
    return load_sections(machine, &header);
}

const struct symbol *function_at(const struct machine *machine, uint32_t address)
{
    for (uint32_t i = 0; i < machine->symbol_count; i++) {
        const struct symbol *symbol = &machine->symbols[i];
        if (symbol->is_function && address - symbol->address < symbol->size_bytes) {
            return symbol;
        }
    }
    return NULL;
}

uint32_t machine_symbol(const struct machine *machine, const char *name)
{
    for (uint32_t i = 0; i < machine->symbol_count; i++) {
        if (strcmp(machine->symbols[i].name, name) == 0) {
            return machine->symbols[i].address;
        }
    }
    return 0;
}
