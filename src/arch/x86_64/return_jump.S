/* return_jump.S (x86-64): where functions marked WEFT_RETURNS_BY_JUMP return through: see context.hpp. The name is the
 * compilers'. A function's caller expects nothing in %rcx then.
 */
    .text
    .p2align 4
    .hidden __x86_return_thunk
    .globl __x86_return_thunk
    .type __x86_return_thunk, @function
__x86_return_thunk:
    .cfi_startproc
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rcx
    jmpq *%rcx
    .cfi_endproc
    .size __x86_return_thunk, . - __x86_return_thunk

    .section .note.GNU-stack, "", @progbits
