"""Programs that also run on other hosts than the one that built them."""

# The programs are parts of a wheel, which has their shared libraries in the folder lib/ beside them.
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
      name: the program. Its libraries are compiled only once, for it and for the usual program.
      deps: libraries; one of them has main().
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
