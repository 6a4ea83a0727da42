! worksharing.f90: a Fortran program with worksharing, tasks, threadprivate, locks and reductions.
program worksharing
  use omp_lib
  implicit none
  integer :: failures, threads
  integer :: counter
  common /each/ counter
  !$omp threadprivate(/each/)
  failures = 0
  do threads = 1, 8
    call omp_set_num_threads(threads)
    call loops()
    call shares()
    call privates()
    call trees()
    call locks()
  end do
  if (failures == 0) then
    print '(a)', 'ok'
  else
    print '(a, i0)', 'FAILED: ', failures
    stop 1
  end if

contains

  subroutine check(is, what)
    logical, intent(in) :: is
    character(*), intent(in) :: what
    if (is) return
    !$omp atomic
    failures = failures + 1
    print '(a, a)', 'not so: ', what
  end subroutine

  subroutine loops()
    integer :: i, j, next, last
    integer(8) :: long
    real(8) :: a(1000), total
    integer :: table(30, 20)
    total = 0
    !$omp parallel do schedule(dynamic, 7) reduction(+:total)
    do i = 1, 1000
      a(i) = i
      total = total + i
    end do
    !$omp end parallel do
    call check(total == 500500d0 .and. sum(a) == total, 'dynamic loop')
    !$omp parallel do collapse(2) schedule(guided) lastprivate(last)
    do j = 1, 20
      do i = 30, 1, -1
        table(i, j) = i * j
        last = i
      end do
    end do
    call check(sum(table) == 465 * 210 .and. last == 1, 'collapsed loop')
    next = 1
    !$omp parallel do ordered schedule(static, 1)
    do i = 1, 100
      !$omp ordered
      call check(next == i, 'ordered loop')
      next = next + 1
      !$omp end ordered
    end do
    !$omp parallel
    !$omp do schedule(runtime)
    do long = 1_8, 1000_8
      a(long) = -a(long)
    end do
    !$omp end do nowait
    !$omp end parallel
    call check(sum(a) == -500500d0, 'runtime loop')
  end subroutine

  subroutine shares()
    integer :: first, second, one, n, a(100), b(100)
    first = 0
    second = 0
    n = 0
    !$omp parallel private(one) reduction(+:n)
    !$omp sections
    !$omp section
    first = first + 1
    !$omp section
    second = second + 1
    !$omp end sections
    !$omp single
    one = 42
    !$omp end single copyprivate(one)
    call check(one == 42, 'copyprivate')
    n = n + 1
    !$omp workshare
    a = 3
    b = a * 2 + 1
    !$omp end workshare
    !$omp critical (add)
    first = first + 10
    !$omp end critical (add)
    !$omp master
    second = second + 10
    !$omp end master
    !$omp end parallel
    call check(first == 1 + 10 * n .and. second == 11 .and. all(b == 7), 'sections, critical, workshare')
  end subroutine

  subroutine privates()
    integer :: wrong, round
    counter = 5
    wrong = 0
    !$omp parallel copyin(counter) reduction(+:wrong)
    if (counter /= 5) wrong = wrong + 1
    counter = counter + omp_get_thread_num()
    !$omp end parallel
    do round = 1, 10
      !$omp parallel reduction(+:wrong)
      if (counter /= 5 + omp_get_thread_num()) wrong = wrong + 1
      !$omp end parallel
    end do
    call check(wrong == 0, 'threadprivate')
  end subroutine

  recursive integer function fib(n) result(r)
    integer, intent(in) :: n
    integer :: x, y
    if (n < 2) then
      r = n
      return
    end if
    !$omp task shared(x) if(n > 8)
    x = fib(n - 1)
    !$omp end task
    !$omp task shared(y)
    y = fib(n - 2)
    !$omp end task
    !$omp taskwait
    r = x + y
  end function

  subroutine trees()
    integer :: r, i, step, a(200)
    character(len=20) :: text
    !$omp parallel
    !$omp single
    r = fib(15)
    a = 0
    !$omp taskloop grainsize(9)
    do i = 1, 200
      a(i) = i
    end do
    !$omp end taskloop
    text = 'none'
    step = 0
    do i = 1, 20
      !$omp task depend(inout: step) firstprivate(i)
      if (step == i - 1) step = i
      !$omp end task
    end do
    !$omp task depend(in: step) shared(text)
    write (text, '(i0)') step
    !$omp end task
    !$omp end single
    !$omp end parallel
    call check(r == 610 .and. sum(a) == 20100 .and. text == '20', 'tasks')
  end subroutine

  subroutine locks()
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nested
    integer :: n, c
    real(8) :: t
    t = omp_get_wtime()
    call omp_init_lock(lock)
    call omp_init_nest_lock(nested)
    n = 0
    c = 0
    !$omp parallel
    call omp_set_lock(lock)
    n = n + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nested)
    call check(omp_test_nest_lock(nested) == 2, 'nested lock')
    c = c + 1
    call omp_unset_nest_lock(nested)
    call omp_unset_nest_lock(nested)
    call check(omp_in_parallel() .or. omp_get_num_threads() == 1, 'in_parallel')
    !$omp end parallel
    call check(n == c .and. n == threads, 'locks')
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nested)
    call check(omp_get_wtime() >= t, 'time')
  end subroutine

end program
