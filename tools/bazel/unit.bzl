"""The usual shape of a library of this project."""

def unit(name, deps = [], visibility = None, **options):
    """A cc_library of NAME.h, and of NAME.cc if there is one.

    Args:
      name: the library.
      deps: as usual; in the server, //server/base and Abseil are added.
      visibility: who may use it, besides its own package and all tests; by default, the package's default.
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

# Tests get Catch2's headers precompiled. The precompiled header is compiled with the
# optimisation that .bazelrc gives to the folders of tests. A test that is compiled with
# other options fails, because the header does not fit.
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
    """All *_test.cc of a package as one cc_test, which is linked once and runs in one process.

    Args:
      name: the test.
      deps: the libraries that any of these files includes.
      apart: the tests that are a unit_test of their own, as they change their process or take long.
      srcs: further files that the tests include.
    """
    native.cc_test(
        name = name,
        size = "small",
        srcs = native.glob(["*_test.cc"], exclude = [test + ".cc" for test in apart]) + srcs,
        copts = _PRECOMPILED,
        deps = deps + ["//tests/catch:main", "//tests/precompiled:catch"],
    )
