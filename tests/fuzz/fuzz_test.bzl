"""Targets that are fed with broken input."""

# A run of the suite tries this many inputs, for at most this many seconds.
_RUNS = 20000
_SECONDS = 10

def fuzz_test(name, deps, corpus = None, dictionary = None, largest = 4096, tags = []):
    """NAME_fuzz_test of NAME_fuzz_test.cc: its corpus, and mutations of it.

    With --config=fuzz they are driven by coverage, else drawn with a fixed seed.

    Args:
      name: what is fuzzed.
      deps: what the test's own file includes; the driver and require.h come with it.
      corpus: label of the files to begin with; by default those of corpus/NAME.
      dictionary: a file of words that inputs are made of, as libFuzzer reads it.
      largest: bytes of the largest input that coverage may lead to.
      tags: as usual.
    """
    if corpus == None:
        corpus = ":%s_corpus" % name
        native.filegroup(
            name = name + "_corpus",
            srcs = native.glob(["corpus/%s/*" % name]),
        )
    # tools/fuzz builds these two files.
    seeds = name + "_seeds.txt"
    options = ["-max_len=%d" % largest, "-timeout=60"]
    if dictionary != None:
        options.append("-dict=$(location %s)" % dictionary)
    native.genrule(
        name = name + "_options",
        srcs = [corpus] + ([] if dictionary == None else [dictionary]),
        outs = [seeds, name + "_options.txt"],
        cmd = "echo -n $(locations %s) | tr ' ' , >$(location %s); echo %s >$(location %s)" %
              (corpus, seeds, " ".join(options), name + "_options.txt"),
    )
    native.cc_test(
        name = name + "_fuzz_test",
        size = "medium",
        srcs = [name + "_fuzz_test.cc"],
        args = select({
            ":by_coverage": options + [
                "-runs=%d" % _RUNS,
                "-max_total_time=%d" % _SECONDS,
                "-seed=1",
                "-seed_inputs=@$(rootpath %s)" % seeds,
            ],
            "//conditions:default": ["$(locations %s)" % corpus],
        }),
        data = [corpus, seeds] + ([] if dictionary == None else [dictionary]),
        linkopts = select({
            ":by_coverage": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = tags,
        deps = deps + [":require"] + select({
            ":by_coverage": [],
            "//conditions:default": [":driver"],
        }),
    )
