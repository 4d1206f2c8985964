"""The usual shape of a library of this project."""

def unit(name, deps = [], visibility = None, **options):
    """A cc_library of NAME.h, and of NAME.cc if there is one.

    Args:
      name: the library.
      deps: as usual.
      visibility: who may use it besides its own package and all tests; by default, whom the package says.
      **options: further arguments of cc_library.
    """
    files = native.glob([name + ".h"])
    if not files:
        fail("//%s has no %s.h" % (native.package_name(), name))
    native.cc_library(
        name = name,
        srcs = native.glob([name + ".cc"]),
        hdrs = files,
        visibility = visibility if visibility == None else visibility + ["//tests:__subpackages__"],
        deps = deps,
        **options
    )
