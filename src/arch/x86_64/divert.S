/* divert.S (x86-64): where a call_with_exit() goes on that was diverted: see context.hpp.
 *
 * The stack is as it was before the call, so it is aligned. The entry for unwinders says that nothing lies
 * below; it begins a byte early, because they look up the byte before a return address.
 */
    .text
    .hidden weft_rt_diverted
    .hidden weft_rt_call_returned
    .globl weft_rt_diverted
    .type weft_rt_diverted, @function
    .cfi_startproc
    .cfi_undefined rip
    nop
weft_rt_diverted:
    xorl %ebp, %ebp
    call weft_rt_call_returned
    ud2
    .cfi_endproc
    .size weft_rt_diverted, . - weft_rt_diverted

    .section .note.GNU-stack, "", @progbits
