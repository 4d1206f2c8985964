"""The usual shape of a library of this project."""

def unit(name, deps = [], visibility = None, **options):
    """A cc_library of NAME.h, and of NAME.cc if there is one.

    Args:
      name: the library.
      deps: as usual; in the server, //server/base and Abseil come with it.
      visibility: who may use it besides its own package and all tests; by default, whom the package says.
      **options: further arguments of cc_library.
    """
    files = native.glob([name + ".h"])
    if not files:
        fail("//%s has no %s.h" % (native.package_name(), name))
    if native.package_name().startswith("server/"):
        deps = deps + ["//server/base", "//tools/bazel:absl"]
    native.cc_library(
        name = name,
        srcs = native.glob([name + ".cc"]),
        hdrs = files,
        visibility = visibility if visibility == None else visibility + ["//tests:__subpackages__"],
        deps = deps,
        **options
    )

# Tests get Catch2's headers precompiled. A precompiled header that does not fit is an
# error. It is compiled with the optimisation that .bazelrc gives to the folders of
# tests.
_PRECOMPILED = ["-include", "tests/precompiled/catch.h", "-Winvalid-pch", "-Werror=invalid-pch"]

def unit_test(name, deps, srcs = [], size = "small", **options):
    """A cc_test of NAME.cc, with Catch2's runner.

    Args:
      name: the test.
      deps: as usual.
      srcs: further files that only this test has.
      size: as usual.
      **options: further arguments of cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"] + srcs,
        copts = _PRECOMPILED,
        deps = deps + ["//tests/catch:main", "//tests/precompiled:catch"],
        **options
    )

def unit_tests(name, deps, apart = [], srcs = []):
    """All *_test.cc of a package as one cc_test: linked once, run in one process.

    Args:
      name: the test.
      deps: what any of them includes.
      apart: those that are a unit_test of their own: they change their process, or take long.
      srcs: further files that they include.
    """
    native.cc_test(
        name = name,
        size = "small",
        srcs = native.glob(["*_test.cc"], exclude = [test + ".cc" for test in apart]) + srcs,
        copts = _PRECOMPILED,
        deps = deps + ["//tests/catch:main", "//tests/precompiled:catch"],
    )
