"""Targets that are fed with broken input."""

def fuzz_test(name, deps, corpus = None, tags = []):
    """NAME_fuzz_test of NAME_fuzz_test.cc: its corpus, and mutations of it with a fixed seed.

    Args:
      name: what is fuzzed.
      deps: what the test's own file includes; the driver comes with it.
      corpus: label of the files to begin with; by default those of corpus/NAME.
      tags: as usual.
    """
    if corpus == None:
        corpus = ":%s_corpus" % name
        native.filegroup(
            name = name + "_corpus",
            srcs = native.glob(["corpus/%s/*" % name]),
        )
    native.cc_test(
        name = name + "_fuzz_test",
        size = "small",
        srcs = [name + "_fuzz_test.cc"],
        args = ["$(locations %s)" % corpus],
        data = [corpus],
        tags = tags,
        deps = [":driver"] + deps,
    )
