# microtask.S: calls an outlined region of clang's with any number of arguments.
#
#   void weft_omp_microtask(Microtask fn, int32_t* gtid, int32_t* number, int argc, void** argv, void** frame)
#                           rdi           rsi            rdx              ecx       r8           r9
#
# puts rbp into *frame, if there is one, and
# calls fn(gtid, number, argv[0], …): rdi, rsi, then rdx, rcx, r8, r9, and what is left on the stack, the last one highest.
#
#   rbp + 8   return address
#   rbp       saved rbp
#   rsp …     argv[4], argv[5], …; rsp is a multiple of 16 at the call

        .text
        .globl  weft_omp_microtask
        .hidden weft_omp_microtask
        .type   weft_omp_microtask, @function
        .p2align 4
weft_omp_microtask:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        testq   %r9, %r9
        je      4f
        movq    %rbp, (%r9)
4:      movq    %rdi, %r11                # fn
        movq    %rsi, %rdi                # gtid
        movq    %rdx, %rsi                # number
        movl    %ecx, %eax                # argc
        movq    %r8, %r10                 # argv
        cmpl    $4, %eax
        jle     2f
        leal    -3(%rax), %ecx            # argc - 4, rounded up to even
        andl    $-2, %ecx
        shlq    $3, %rcx
        subq    %rcx, %rsp
        movl    %eax, %ecx
1:      decl    %ecx                      # argv[argc - 1] … argv[4]
        movq    (%r10,%rcx,8), %rdx
        movq    %rdx, -32(%rsp,%rcx,8)
        cmpl    $4, %ecx
        jg      1b
2:      testl   %eax, %eax
        jle     3f
        movq    (%r10), %rdx
        cmpl    $1, %eax
        je      3f
        movq    8(%r10), %rcx
        cmpl    $2, %eax
        je      3f
        movq    16(%r10), %r8
        cmpl    $3, %eax
        je      3f
        movq    24(%r10), %r9
3:      xorl    %eax, %eax                # no vector registers in a variadic call
        call    *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   weft_omp_microtask, . - weft_omp_microtask
        .section .note.GNU-stack, "", @progbits
