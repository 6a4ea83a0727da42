! Internal procedures as arguments: they are called by way of a few instructions on the stack of whoever passes them on.
module passing
  implicit none
contains
  integer function with_internal(i) result(sum)
    integer, intent(in) :: i
    sum = apply(plus, 7)
  contains
    integer function plus(n)
      integer, intent(in) :: n
      plus = i + n
    end function
  end function
  integer function apply(f, n)
    interface
      integer function f(n)
        integer, intent(in) :: n
      end function
    end interface
    integer, intent(in) :: n
    apply = f(n)
  end function
end module

program passed
  use passing
  implicit none
  integer :: total, i
  total = 0
  !$omp parallel do num_threads(4) reduction(+ : total)
  do i = 1, 100
    total = total + with_internal(i)
  end do
  if (total /= 5050 + 100 * 7) error stop "not the sum"
  print '(a)', 'ok'
end program
