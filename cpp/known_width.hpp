// Numbers of centers that loops are compiled for; 0 is any. The code is the same for each, so that
// a core built small (TREEMEANS_SMALL), which is compiled for its tests, has few of them.
#pragma once

namespace treemeans {

#ifdef TREEMEANS_SMALL
template <int W>
constexpr int known_width = W <= 4 ? W : 0;
#else
template <int W>
constexpr int known_width = W;
#endif

}  // namespace treemeans
