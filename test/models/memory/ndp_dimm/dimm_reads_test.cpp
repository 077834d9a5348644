// DimmReads against plays that it did not make: other places, other counts, the whole channel.
#include "models/memory/ndp_dimm/dimm_reads.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "models/memory/address_mapping.h"
#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/energy.h"
#include "models/memory/memory_row.h"

using namespace weir;

namespace {

constexpr int ranks_a_dimm = 4;
const std::vector<std::string> rows = {"ddr4_3200_hermes", "ddr4_3200_hermes_colmaj"};

// Random pieces, all in one rank of the memory: places of a rank by itself, moved to where the rank is.
std::vector<MemoryRequest> reads_in_rank(const MemorySpec& memory, int rank, std::int64_t pieces,
                                         std::int64_t piece_bytes, std::mt19937_64& random) {
  const MemorySpec alone = one_rank(memory);
  const AddressMapping within(alone), whole(memory);
  const auto bytes = static_cast<std::uint64_t>(piece_bytes);
  const auto step = static_cast<std::uint64_t>(memory.organisation.access_bytes);
  const std::uint64_t places = static_cast<std::uint64_t>(alone.organisation.capacity()) / bytes;
  std::vector<MemoryRequest> requests;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::uint64_t from = random() % places * bytes;
    for (std::uint64_t at = 0; at < bytes; at += step) {
      DramLocation location = within.locate(from + at);
      location.rank = rank;
      requests.push_back({0, whole.address(location), false});
    }
  }
  return requests;
}

double gb_per_s(BytesPerSecond rate) {
  return ranks_a_dimm * rate.value() / 1e9;
}

// Seconds of reading so many pieces from a rank that is alone, the mean of `times` plays.
double played_seconds(const MemorySpec& memory, std::int64_t pieces, std::int64_t piece_bytes, int times,
                      std::mt19937_64& random) {
  const MemorySpec alone = one_rank(memory);
  double cycles = 0;
  for (int i = 0; i < times; ++i) {
    const auto requests = reads_in_rank(alone, 0, pieces, piece_bytes, random);
    cycles += static_cast<double>(play(alone, requests, {.refresh = false}).last_data_end) / times;
  }
  return cycles * memory.clock.value();
}

}  // namespace

TEST_CASE("NDP-DIMM: pieces are read as fast as the whole channel reads them in one of its ranks") {
  std::mt19937_64 random(11);
  for (const std::string& name : rows)
    for (const std::int64_t piece : {2048, 4096, 5120, 9216, 16384}) {
      const MemorySpec channel = find_memory(name);
      const auto rank = static_cast<int>(random() % static_cast<std::uint64_t>(channel.organisation.ranks));
      const std::int64_t pieces = (std::int64_t{12} << 20) / piece;
      const ChannelRun run = play(channel, reads_in_rank(channel, rank, pieces, piece, random));
      const double seconds = static_cast<double>(run.span()) * channel.clock.value();
      CAPTURE(name, piece, rank);
      CHECK(DimmReads::shared(channel)->piece_bandwidth(piece).value() ==
            Approx(static_cast<double>(pieces * piece) / seconds).epsilon(0.02));
    }
}

TEST_CASE("NDP-DIMM: time affine in pieces is that of plays of other lengths") {
  std::mt19937_64 random(12);
  for (const std::string& name : rows)
    for (const std::int64_t piece : {2048, 5120, 12288}) {
      const MemorySpec channel = find_memory(name);
      const DimmReads reads(channel, false);
      const struct {
        std::int64_t pieces;
        int times;
        double margin;
      } lengths[] = {{1, 200, 0.03}, {3, 200, 0.03}, {20, 100, 0.02}, {150, 10, 0.02}, {1000, 1, 0.02}};
      for (const auto& [pieces, times, margin] : lengths) {
        CAPTURE(name, piece, pieces);
        CHECK(reads.pieces(piece).time(static_cast<double>(pieces)).value() ==
              Approx(played_seconds(channel, pieces, piece, times, random)).epsilon(margin));
      }
    }
}

TEST_CASE("NDP-DIMM: a DIMM reaches what was reckoned beforehand") {
  const struct {
    std::int64_t piece;
    double least, most;  // GB/s of four ranks, systems/hermes.md
  } interleaved[] = {{2048, 89.6, 89.6}, {4096, 92.4, 92.4}, {5120, 92.7, 92.7},
                     {9216, 94.5, 95},   {12288, 94.5, 95},  {16384, 96.0, 96.0}};
  const auto reached = [](const char* row, std::int64_t piece) {
    return gb_per_s(DimmReads::shared(find_memory(row))->piece_bandwidth(piece));
  };
  for (const auto& [piece, least, most] : interleaved) {
    CAPTURE(piece);
    CHECK(reached("ddr4_3200_hermes", piece) > 0.99 * least);
    CHECK(reached("ddr4_3200_hermes", piece) < 1.01 * most);
  }
  for (const std::int64_t piece : {4096, 5120, 9216, 12288}) {  // "65", of all of them
    CAPTURE(piece);
    CHECK(reached("ddr4_3200_hermes_colmaj", piece) == Approx(65).epsilon(0.04));
  }
  const auto hermes = DimmReads::shared(find_memory("ddr4_3200_hermes"));
  CHECK(gb_per_s(hermes->rank_stream().rate) == Approx(96.1).epsilon(0.005));
}

TEST_CASE("NDP-DIMM: nothing beats the bus, more or longer pieces take longer, refresh costs its share") {
  std::mt19937_64 random(13);
  for (const std::string& name : rows) {
    const MemorySpec channel = find_memory(name);
    const DimmReads reads(channel), unrefreshed(channel, false);
    for (auto piece = static_cast<std::int64_t>(1 + random() % 64); piece < 50'000; piece += piece + 64) {
      const DimmReads::Affine one = reads.pieces(piece), longer = reads.pieces(piece + piece / 4 + 64);
      CAPTURE(name, piece);
      CHECK(one.energy(0.2) > Joules(0));
      CHECK(one.time(0) == Seconds(0));
      CHECK(reads.piece_bandwidth(piece) <= channel.peak());
      CHECK(longer.per_piece > one.per_piece);
      CHECK(longer.energy_per_piece > one.energy_per_piece);
      for (const double few : {0.2, 1.0, 2.0, 7.5})
        CHECK(one.time(few) > Seconds(few * static_cast<double>(piece) / channel.peak().value()));
      const double slowed = one.per_piece / unrefreshed.pieces(piece).per_piece;
      CHECK(slowed > 1 + 0.9 * 560 / 12480);  // tRFC of tREFI, and rows to open anew
      CHECK(slowed < 1 + 2.0 * 560 / 12480);
    }
  }
}

TEST_CASE("NDP-DIMM: seconds are in proportion to the clock, and shorter delays are never slower") {
  const MemorySpec channel = find_memory("ddr4_3200_hermes_colmaj");
  MemorySpec faster_clock = channel, faster_columns = channel, slower_rows = channel;
  faster_clock.clock = channel.clock / 2;
  faster_columns.timings.ccd_l = channel.timings.ccd_s;
  slower_rows.timings.rp *= 2;
  const auto of = [](const MemorySpec& memory, std::int64_t piece) {
    return DimmReads(memory).pieces(piece);
  };
  for (const std::int64_t piece : {1024, 7680}) {
    const DimmReads::Affine as_it_is = of(channel, piece), halved = of(faster_clock, piece);
    CHECK(halved.per_piece.value() == Approx(as_it_is.per_piece.value() / 2));
    CHECK(halved.fixed.value() == Approx(as_it_is.fixed.value() / 2));
    CHECK(of(faster_columns, piece).per_piece < as_it_is.per_piece);
    CHECK(of(slower_rows, piece).per_piece > as_it_is.per_piece);
  }
}

TEST_CASE("NDP-DIMM: energy of reading is that of the commands counted") {
  std::mt19937_64 random(14);
  for (const std::string& name : rows)
    for (const std::int64_t piece : {2048, 5120, 16384}) {
      const MemorySpec channel = find_memory(name), alone = one_rank(channel);
      const DramEnergies each = dram_energies(alone);
      const std::int64_t pieces = (std::int64_t{8} << 20) / piece;
      std::vector<IssuedCommand> log;
      play(alone, reads_in_rank(alone, 0, pieces, piece, random), {.log = &log});
      Joules counted;
      for (const IssuedCommand& issued : log) {
        if (issued.command == DramCommand::activate) counted += each.activate;
        if (issued.command == DramCommand::read) counted += each.read;
        if (issued.command == DramCommand::refresh) counted += each.refresh;
      }
      CAPTURE(name, piece);
      const DimmReads::Affine law = DimmReads::shared(channel)->pieces(piece);
      CHECK(law.energy(static_cast<double>(pieces)).value() == Approx(counted.value()).epsilon(0.01));
      // Nothing but reads would be this, and each of a piece's rows is opened at least once.
      CHECK(law.energy_per_piece > static_cast<double>(piece / 64) * each.read + each.activate);
    }
}

TEST_CASE("NDP-DIMM: the host has its stream of the channel, whatever its ranks") {
  const MemorySpec channel = find_memory("ddr4_3200_hermes");
  const auto reads = DimmReads::shared(channel);
  const BusStream& host = reads->host_stream(StreamKind::read);
  CHECK(host.rate / channel.peak() == Approx(stream_efficiency(channel)).epsilon(0.005));
  CHECK(reads->host_stream(StreamKind::write).rate / channel.peak() > 0.85);
  CHECK(&reads->host_stream(StreamKind::read) == &host);  // played once
}

TEST_CASE("NDP-DIMM: whole accesses are read, and pieces that cannot be are refused") {
  const DimmReads reads(find_memory("ddr4_3200_hermes"));
  CHECK(reads.pieces(4033).per_piece == reads.pieces(4096).per_piece);
  CHECK(reads.pieces(4032).per_piece < reads.pieces(4096).per_piece);
  CHECK_THROWS_AS(reads.pieces(0), std::invalid_argument);
  CHECK_THROWS_AS(reads.pieces(most_piece_bytes + 1), std::invalid_argument);
}

TEST_CASE("NDP-DIMM: any thread may ask, of one object for each channel, and all are told the same") {
  const MemorySpec channel = find_memory("ddr4_3200_hermes");
  const auto shared = DimmReads::shared(channel);
  CHECK(DimmReads::shared(channel) == shared);
  CHECK(DimmReads::shared(channel, false) != shared);
  std::vector<double> seen(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] { seen[i] = shared->pieces(i % 2 ? 5120 : 3072).per_piece.value(); });
  for (std::thread& thread : threads) thread.join();
  const DimmReads alone(channel);
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == alone.pieces(i % 2 ? 5120 : 3072).per_piece.value());
}
