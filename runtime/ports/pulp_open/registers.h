/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of pulp-open and how this port's files reach each other. */
#ifndef TILEWRIGHT_PULP_REGISTERS_H
#define TILEWRIGHT_PULP_REGISTERS_H

#include "pulp_open.h"

#include <stdint.h>
#include <tilewright/port.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SoC */
#define PULP_EXIT 0x1a1040a0u
#define PULP_EXIT_VALID 0x80000000u
#define PULP_FC_CACHE 0x1a108800u

/* Address of the registers that the eight transactions of the uDMA's HyperBus channel share;
 * 0x1a102580 in a GVSoC of 2025, which has two transactions. */
#ifndef PULP_HYPER_COMMON
#define PULP_HYPER_COMMON 0x1a102880u
#endif

/* Cluster, as everyone sees it */
#define PULP_FETCH_ENABLE 0x10200008u
#define PULP_BOOT_ADDRESS 0x10200040u
#define PULP_CLUSTER_CACHE 0x10201400u
#define PULP_SOFTWARE_EVENT 0x10200e00u /* + 4 * event: write the cores that get it */
#define PULP_FC_DMA 0x10201800u

/* Cluster, each core's own view */
#define PULP_EVENT_MASK 0x10204000u
#define PULP_EVENT_MASK_CLEAR 0x10204004u
#define PULP_EVENT_MASK_SET 0x10204008u
#define PULP_EVENT_WAIT_CLEAR 0x1020403cu
#define PULP_TEAM_EVENT 0x10204100u /* + 4 * event: write the cores that get it */
#define PULP_BARRIER(number) (0x10204200u + 0x20u * (number))
#define PULP_BARRIER_TRIGGER_MASK(number) PULP_BARRIER(number)
#define PULP_BARRIER_TARGET_MASK(number) (PULP_BARRIER(number) + 0x0cu)
#define PULP_BARRIER_TRIGGER(number) (PULP_BARRIER(number) + 0x10u)
#define PULP_BARRIER_WAIT_CLEAR(number) (PULP_BARRIER(number) + 0x1cu)
#define PULP_CORE_DMA 0x10204400u

#define PULP_EVENT_START 0u
#define PULP_EVENT_DMA 8u
#define PULP_EVENT_BARRIER 16u

static inline uint32_t pulp_read(uint32_t address)
{
    return *(const volatile uint32_t *)(uintptr_t)address;
}

static inline void pulp_write(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

/* mhartid (CSR 0xf14); instructions are written by their encoding, so that -march need not name
 * zicsr. The cluster's workers are 0 to 7, its control core 8, the fabric controller is core 0 of
 * cluster 31. */
static inline uint32_t pulp_hart(void)
{
    uint32_t hart;
    __asm__ volatile(".insn i 0x73, 2, %0, x0, -236" : "=r"(hart));
    return hart;
}

static inline int pulp_is_controller(void)
{
    return pulp_hart() >> 5 != 0u;
}

/* Keep the compiler from moving memory accesses over this point; the model is in order. */
static inline void pulp_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Sleep until one of the events of `mask` has come; it is consumed. */
static inline void pulp_sleep(uint32_t mask)
{
    pulp_write(PULP_EVENT_MASK, mask);
    (void)pulp_read(PULP_EVENT_WAIT_CLEAR);
    pulp_write(PULP_EVENT_MASK, 0u);
}

/* Ask the simulator's host: no simulated time passes. Returns the operation's result. */
static inline uint32_t pulp_semihosting(uint32_t operation, const uint32_t *block)
{
    register uint32_t result __asm__("a0") = operation;
    register const uint32_t *argument __asm__("a1") = block;
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(result)
                     : "r"(argument)
                     : "memory");
    return result;
}

/* A piece of the cluster's L1 that is the port's own: behind the plan's allowance. */
#define PULP_L1 __attribute__((section(".bss.tilewright.l1.port")))

/* L3: called by the fabric controller only. */
void pulp_hyper_copy(tilewright_address_t destination, tilewright_address_t source, uint32_t lines,
                     uint32_t line_bytes, int32_t destination_stride, int32_t source_stride);

static inline int pulp_is_hyper(tilewright_address_t address)
{
    return address - TILEWRIGHT_HYPER_BASE < TILEWRIGHT_HYPER_SIZE;
}

/* L3, called by the core that runs kernels. On the controller the copy is complete on return. */
tilewright_token_t pulp_hyper_start(tilewright_address_t destination, tilewright_address_t source,
                                    uint32_t lines, uint32_t line_bytes, int32_t destination_stride,
                                    int32_t source_stride);

/* Tokens of copies that the fabric controller makes for the cluster. */
#define PULP_POSTED 0x80000000u

/* Ask the fabric controller for L3 copies, from the cluster: a queue in L2. */
tilewright_token_t pulp_post(tilewright_address_t destination, tilewright_address_t source,
                             uint32_t lines, uint32_t line_bytes, int32_t destination_stride,
                             int32_t source_stride);
enum tilewright_port_status pulp_post_wait(tilewright_token_t token);

#ifdef __cplusplus
}
#endif

#endif
