// Sizes of blocks, tiles and bins. They are chosen for speed, and no result may depend on them. In
// a core built small (TREEMEANS_SMALL) they are a few rows and bins, so that every border between
// two blocks, every look inside a bin and every merge of two threads happens in tables of a few
// rows.
#pragma once

namespace treemeans {

#ifdef TREEMEANS_SMALL
template <class T>
constexpr T sized(T, T small) {
  return small;
}
#else
template <class T>
constexpr T sized(T normal, T) {
  return normal;
}
#endif

}  // namespace treemeans
