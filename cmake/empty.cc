// A library of other libraries needs a source.
