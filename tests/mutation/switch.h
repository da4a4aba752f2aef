// Which mutant of a mutated build is on: RULEENGINE_MUTANT=N, read once at the
// start; none by default. RULEENGINE_MUTANT_REACHED names a file: its byte N
// becomes 1 when the code of mutant N is reached. The compiler includes this
// before the first line of every file, so it is ready before any other static
// object. Threads: all writes store the same values.

#ifndef TESTS_MUTATION_SWITCH_H_
#define TESTS_MUTATION_SWITCH_H_

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mutation {

class Switch {
 public:
  static constexpr unsigned kMost = 1 << 16;

  Switch() {
    if (const char* on = ::getenv("RULEENGINE_MUTANT")) on_ = ::atoi(on);
    const char* path = ::getenv("RULEENGINE_MUTANT_REACHED");
    const int file = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void* map =
        ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (map != MAP_FAILED) reached_ = static_cast<volatile char*>(map);
  }

  bool is(unsigned mutant) const {
    reached_[mutant] = 1;
    return mutant == on_;
  }

 private:
  inline static volatile char unread_[kMost];
  volatile char* reached_ = unread_;
  unsigned on_ = 0;  // mutants count from 1
};

inline const Switch the_switch;

inline bool is(unsigned mutant) { return the_switch.is(mutant); }

}  // namespace mutation

#endif  // TESTS_MUTATION_SWITCH_H_
