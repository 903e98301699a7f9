// Sums of weights that differ by up to 1e24, whose differences must keep the smallest of them.
#pragma once

namespace treemeans {

// A sum, what rounding has taken off it, and off that, so that the difference of two sums keeps all
// digits of weights that are 1e-24 of others.
struct CompensatedSum {
  double parts[3] = {0.0, 0.0, 0.0};
  void add(double x) {
    for (double& part : parts) {
      const double next = part + x, shared = next - part;
      x = (part - (next - shared)) + (x - shared);
      part = next;
    }
  }
  double minus(CompensatedSum other) const {
    for (double& part : other.parts) part = -part;
    for (const double part : parts) other.add(part);
    return other.parts[0] + (other.parts[1] + other.parts[2]);
  }
};

}  // namespace treemeans
