"""Programs that run on other hosts than the one that has built them."""

# The programs are parts of a wheel, which carries their shared libraries in lib/ beside them.
_LINKOPTS = [
    "-L$(BINDIR)/tools/bazel/portable",
    "-static-libgcc",
    # RPATH, unlike RUNPATH, also serves the libraries that loaded libraries need.
    "-Wl,--disable-new-dtags",
    "-Wl,-rpath,'$$ORIGIN/lib'",
    "-Wl,--gc-sections",
]

def portable_binary(name, deps, visibility):
    """A program with the libraries of //tools/bazel/portable, tagged "portable".

    Args:
      name: the program; what it is linked with is compiled once for it and its usual namesake.
      deps: libraries, of which one has main().
      visibility: as usual.
    """
    native.cc_binary(
        name = name,
        additional_linker_inputs = ["//tools/bazel/portable:libraries"],
        linkopts = _LINKOPTS,
        tags = ["portable"],
        visibility = visibility,
        deps = deps + ["//tools/bazel/portable:arc4random"],
    )
