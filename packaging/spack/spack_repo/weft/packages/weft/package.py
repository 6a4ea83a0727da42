import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Weft(CMakePackage):
    """User-level threads for Linux: millions of threads that cost about as much as function calls,
    and that may block, be joined from anywhere, throw exceptions, and call any library."""

    # No release has been published: what is built is the repository that this recipe lies in. If you
    # copy the recipe, say here where Weft's is.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0 WITH LLVM-exception", checked_by="Weft developers")

    version("main", branch="main")

    variant("shared", default=True, description="Build libweft.so as well as libweft.a")
    variant("docs", default=False, description="Build the API reference as HTML")
    variant("debug", default=False, description="Check everything that can be checked at run time")
    variant(
        "sanitize",
        default="none",
        values=("none", "asan", "tsan"),
        multi=False,
        description="Instrumentation: AddressSanitizer with UBSan, or ThreadSanitizer",
    )

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("libunwind")  # loaded at run time, for backtraces in dumps
    depends_on("doxygen", type="build", when="+docs")
    depends_on("python@3.9:", type="build", when="+docs")
    depends_on("googletest", type="test")

    requires("platform=linux", msg="Weft runs on Linux")
    requires("target=x86_64:", msg="Weft runs on x86-64")
    conflicts("%gcc@:10", msg="C++20 as Weft uses it needs gcc 11")
    conflicts("%clang@:18", msg="C++20 as Weft uses it needs clang 19")
    conflicts("+shared", when="sanitize=asan", msg="the program brings the sanitizer's run time")
    conflicts("+shared", when="sanitize=tsan", msg="the program brings the sanitizer's run time")

    sanity_check_is_file = [join_path("include", "weft", "weft.h")]

    def cmake_args(self):
        return [
            self.define_from_variant("WEFT_SHARED", "shared"),
            self.define_from_variant("WEFT_DOCS", "docs"),
            self.define_from_variant("WEFT_DEBUG", "debug"),
            self.define_from_variant("WEFT_SANITIZE", "sanitize"),
            self.define("WEFT_TESTS", self.run_tests),
            self.define("WEFT_EXAMPLES", False),
        ]
