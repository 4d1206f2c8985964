"""Debian's libraries as targets."""

def debian(name, links = [], **options):
    """A library whose headers lie on the compiler's own search path.

    Args:
      name: the library.
      links: the names of the libraries to link with, as after -l; empty if there are only headers.
      **options: further arguments of cc_library.
    """
    native.cc_library(
        name = name,
        linkopts = ["-l" + link for link in links],
        **options
    )
