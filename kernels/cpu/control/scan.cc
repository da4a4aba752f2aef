#include "kernels/cpu/families.h"

#include <algorithm>

#include "core/ir/graph.h"
#include "kernels/cpu/control/bodies.h"
#include "kernels/strided.h"
#include "runtime/conversions.h"

namespace ruleengine::kernels {
namespace {

// A tensor that is read element by element: its first axis is time. Elements
// below a byte are unpacked.
struct Track {
  Tensor tensor;
  DataType dtype = DataType::kUndefined;
  bool reversed = false;
};

// A list of `count` numbers, which are 0 where it is not written.
Ints entries(const Preparation& p, std::string_view name, std::size_t count) {
  if (!p.has_attribute(name)) return Ints(count, 0);
  Ints all = p.attribute_ints(name);
  if (all.size() == count) return all;
  p.wrong_attribute(name, std::to_string(count) + " numbers");
}

// 1 for what is read or written from its end.
Ints directions(const Preparation& p, std::string_view name,
                std::size_t count) {
  Ints all = entries(p, name, count);
  for (const std::int64_t each : all) {
    if (each != 0 && each != 1) {
      p.wrong_attribute(name, "0 or 1", std::to_string(each));
    }
  }
  return all;
}

// The subgraph of a Scan, and how inputs and outputs are shared out.
struct ScanBody : Body {
  // `given`: inputs of the node that are states or scanned.
  ScanBody(const Preparation& p, std::size_t given, std::string_view directed);

  std::size_t states, scanned, stacked;
  // Of what is scanned, and of what is stacked.
  Ints in_axes, in_reversed, out_axes, out_reversed;
};

ScanBody::ScanBody(const Preparation& p, std::size_t given,
                   std::string_view directed)
    : Body(p, "body") {
  const std::int64_t said = p.attribute_int("num_scan_inputs");
  if (said < 1 || said > static_cast<std::int64_t>(given)) {
    p.wrong_attribute("num_scan_inputs", "1 to " + std::to_string(given));
  }
  scanned = index_of(said);
  states = given - scanned;
  if (inputs != given || outputs.size() < states) {
    fail("the body does not fit the states and scanned inputs",
         std::to_string(given) + " inputs", std::to_string(inputs));
  }
  stacked = outputs.size() - states;
  in_axes = entries(p, "scan_input_axes", scanned);
  in_reversed = directions(p, directed, scanned);
  out_axes = entries(p, "scan_output_axes", stacked);
  out_reversed = directions(p, "scan_output_directions", stacked);
}

// The first axis of the result is `axis` of `x`.
Track track_of(const Call& c, const Tensor& x, std::int64_t axis,
               bool reversed) {
  const std::size_t first = axis_of(axis, x.rank());
  const Tensor bytes = runtime::unpacked(x, c.run());
  return {transposed(c, bytes, axis_first(first, x.rank())), x.dtype(),
          reversed};
}

// Runs the body `rounds` times; `states` become the last ones.
void run_rounds(const Call& c, const ScanBody& body, std::vector<Datum>& states,
                const std::vector<Track>& tracks, std::int64_t rounds,
                std::vector<Stack>& stacks) {
  for (std::int64_t round = 0; round < rounds; ++round) {
    c.threads().look();
    std::vector<Datum> inputs = std::move(states);
    for (const Track& track : tracks) {
      const std::int64_t at = track.reversed ? rounds - 1 - round : round;
      inputs.emplace_back(element_at(c, track.tensor, at, track.dtype));
    }
    std::vector<Datum> results = c.run_block(body.block, std::move(inputs));
    for (std::size_t i = 0; i < body.stacked; ++i) {
      stacks[i].push(c, tensor_of(results[body.states + i]));
    }
    results.resize(body.states);
    states = std::move(results);
  }
}

// Moves the axis of the items to where the attribute says, and reverses it if
// the attribute asks for it.
Tensor arranged(const Call& c, const Tensor& x, std::size_t i,
                const ScanBody& body) {
  const std::size_t axis = axis_of(body.out_axes[i], x.rank());
  const bool reversed = body.out_reversed[i] != 0;
  if (axis == 0 && (!reversed || x.count() == 0)) return x;
  const Tensor bytes = runtime::unpacked(x, c.run());
  Dims dims;
  Places from;
  const Dims strides =
      x.count() == 0 ? Dims(x.rank(), 0) : strides_of(x.dims());
  for (std::size_t to = 0, next = 1; to < x.rank(); ++to) {
    const std::size_t source = to == axis ? 0 : next++;
    dims.push_back(x.dim(source));
    from.strides.push_back(strides[source]);
  }
  Tensor out = c.allocate(bytes.dtype(), dims);
  if (out.count() > 0) {
    if (reversed) {
      from.at = (x.dim(0) - 1) * strides[0];
      from.strides[axis] = -strides[0];
    }
    copy_block(c, dims, bytes, from, out, dense(dims));
  }
  return runtime::packed(out, x.dtype(), c.run());
}

// The length of all tracks; fails where they differ.
std::int64_t length_of(const std::vector<Track>& tracks, std::size_t axis) {
  const std::int64_t length = tracks[0].tensor.dim(axis);
  for (const Track& track : tracks) {
    if (track.tensor.dim(axis) != length) {
      fail("scanned inputs have different lengths", std::to_string(length),
           std::to_string(track.tensor.dim(axis)));
    }
  }
  return length;
}

void run_scan(Call& c, const ScanBody& body) {
  std::vector<Datum> states;
  std::vector<Track> tracks;
  for (std::size_t i = 0; i < body.states; ++i) states.push_back(c.value(i));
  for (std::size_t i = 0; i < body.scanned; ++i) {
    tracks.push_back(track_of(c, c.input(body.states + i), body.in_axes[i],
                              body.in_reversed[i] != 0));
  }
  const std::int64_t length = length_of(tracks, 0);
  std::vector<Stack> stacks(body.stacked, Stack(length));
  run_rounds(c, body, states, tracks, length, stacks);
  for (std::size_t i = 0; i < body.states; ++i) {
    c.set_output(i, std::move(states[i]));
  }
  for (std::size_t i = 0; i < body.stacked; ++i) {
    const std::size_t out = body.states + i;
    if (!c.wants(out)) continue;
    const Tensor all =
        stacks[i].empty() ? never_computed(c, body, out, 0) : stacks[i].take(c);
    c.set_output(out, arranged(c, all, i, body));
  }
}

Ints sequence_lengths(const Call& c, std::int64_t batch, std::int64_t length) {
  if (!c.has_input(0)) {
    // Fails where the batch is too large, before the list is made.
    c.allocate(DataType::kInt64, {&batch, 1});
    return Ints(index_of(batch), length);
  }
  c.expect_count(0, batch);
  return ints_up_to(c, 0, length);
}

// What Scan of opset 8 keeps for the whole batch.
struct Batch {
  std::vector<Track> states, tracks;
  std::int64_t size = 0, length = 0;
  std::vector<Stack> outputs;  // of states, then of scan outputs
};

Batch batch_of(const Call& c, const ScanBody& body) {
  Batch out;
  for (std::size_t i = 0; i < body.states + body.scanned; ++i) {
    const bool is_state = i < body.states;
    const Tensor& x = c.expect_min_rank(i + 1, is_state ? 1 : 2);
    const bool reversed = !is_state && body.in_reversed[i - body.states] != 0;
    (is_state ? out.states : out.tracks).push_back(track_of(c, x, 0, reversed));
  }
  out.size = length_of(out.tracks, 0);
  out.length = length_of(out.tracks, 1);
  if (!out.states.empty() && length_of(out.states, 0) != out.size) {
    c.wrong_shape(1, "a first axis of " + std::to_string(out.size));
  }
  if (out.size == 0) c.wrong_shape(1, "a batch of 1 or more");
  out.outputs.assign(body.states + body.stacked, Stack(out.size));
  return out;
}

void run_one(const Call& c, const ScanBody& body, Batch& batch, std::int64_t at,
             std::int64_t rounds) {
  std::vector<Datum> states;
  std::vector<Track> tracks;
  for (const Track& state : batch.states) {
    states.emplace_back(element_at(c, state.tensor, at, state.dtype));
  }
  for (const Track& track : batch.tracks) {
    const Tensor one = cut(c, track.tensor, 0, at, 1);
    tracks.push_back(
        {one.reshaped(one.dims().subspan(1)), track.dtype, track.reversed});
  }
  std::vector<Stack> stacks(body.stacked, Stack(batch.length));
  run_rounds(c, body, states, tracks, rounds, stacks);
  for (std::size_t i = 0; i < body.states; ++i) {
    batch.outputs[i].push(c, tensor_of(states[i]));
  }
  for (std::size_t i = 0; i < body.stacked; ++i) {
    // Elements after the end of a sequence are zero.
    const bool ran = !stacks[i].empty();
    while (ran && stacks[i].size() < batch.length) stacks[i].push_zeros(c);
    batch.outputs[body.states + i].push(
        c, ran ? stacks[i].take(c)
               : never_computed(c, body, body.states + i, batch.length));
  }
}

void run_scan_8(Call& c, const ScanBody& body) {
  Batch batch = batch_of(c, body);
  const Ints lengths = sequence_lengths(c, batch.size, batch.length);
  for (std::int64_t i = 0; i < batch.size; ++i) {
    run_one(c, body, batch, i, lengths[index_of(i)]);
  }
  for (std::size_t i = 0; i < batch.outputs.size(); ++i) {
    if (c.wants(i)) c.set_output(i, batch.outputs[i].take(c));
  }
}

}  // namespace

Op scan(const Preparation& p) {
  const ScanBody body(p, p.node().input_count(), "scan_input_directions");
  return [body](Call& c) { run_scan(c, body); };
}

Op scan_8(const Preparation& p) {
  const std::size_t inputs = p.node().input_count();
  const ScanBody body(p, std::max<std::size_t>(inputs, 1) - 1, "directions");
  return [body](Call& c) { run_scan_8(c, body); };
}

}  // namespace ruleengine::kernels
