// Buffers that one search hands on to the next. Memory of their size costs more to get, and to
// clear, than a search of a small node takes.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace treemeans {

// Kept by whatever the searches have in common, and freed with it. A buffer that is not given
// back, because an exception was thrown, is just freed: its contents need not be as promised.
template <class Buffer>
class BufferPool {
 public:
  std::unique_ptr<Buffer> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<Buffer>();
    std::unique_ptr<Buffer> buffer = std::move(idle_.back());
    idle_.pop_back();
    return buffer;
  }
  void give_back(std::unique_ptr<Buffer> buffer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> idle_;
};

}  // namespace treemeans
