// A library that is not a plug-in.
extern "C" int forebay_foreign() { return 0; }
