/* ${title} as a C++ game of OpenSpiel, by the functions of ${name}.h. It is built beside them, for the package of
   OpenSpiel in $$SPIEL, the folder that has pyspiel.so and, in open_spiel, the headers:

   g++ -std=c++17 -O2 -shared -fPIC -I$$SPIEL -I$$SPIEL/open_spiel -I$$SPIEL/open_spiel/abseil-cpp \
     -I$$SPIEL/open_spiel/json/include ${name}_openspiel.cc ${code} -Wl,-rpath,'$$ORIGIN' -lm -o ${name}_openspiel.so

   Once the library is loaded, it is the game "backalley_native_${name}". Chance is sampled: a chance node has the one
   outcome 0, which draws all that chance decides up to the next decision. */
#include <cstring>
#include <random>
#include <sstream>

#include "${name}.h"
#include "open_spiel/spiel.h"

namespace backalley_${name} {
using namespace open_spiel;

const char* const kActions[] = {
${actions}
};
const char* const kFields[] = {${fields}};
const int kSizes[] = {${sizes}};
constexpr int kSeats = ${NAME}_SEATS;
using Number = ${number};
constexpr int kNumbers = sizeof(${name}_observation) / sizeof(Number);

const GameType kType{
    "backalley_native_${name}", "${title}", GameType::Dynamics::kSequential, GameType::ChanceMode::kSampledStochastic,
    GameType::Information::kImperfectInformation,
    ${zero_sum} ? GameType::Utility::kZeroSum : GameType::Utility::kGeneralSum, GameType::RewardModel::kRewards,
    kSeats, kSeats, /*information state string*/ true, /*and tensor*/ false, /*observation string*/ true,
    /*and tensor*/ true, {{"rng_seed", GameParameter(-1)}}};

class ThisGame : public Game {
 public:
  explicit ThisGame(const GameParameters& given) : Game(kType, given) {
    const int seed = ParameterValue<int>("rng_seed");
    random_.seed(seed < 0 ? std::random_device()() : seed);
  }
  int NumDistinctActions() const override { return ${NAME}_ACTIONS; }
  std::unique_ptr<State> NewInitialState() const override;
  std::unique_ptr<State> DeserializeState(const std::string& text) const override;
  int MaxChanceOutcomes() const override { return 1; }
  int NumPlayers() const override { return kSeats; }
  double MinUtility() const override { return Bound(${NAME}_REWARD_LOW, -1e-6); }
  double MaxUtility() const override { return Bound(${NAME}_REWARD_HIGH, 1e-6); }
  absl::optional<double> UtilitySum() const override {
    return ${zero_sum} ? absl::optional<double>(0) : absl::nullopt;
  }
  std::vector<int> ObservationTensorShape() const override { return {kNumbers}; }
  int MaxGameLength() const override { return ${longest}; }
  std::string GetRNGState() const override {
    std::ostringstream out;
    out << random_;
    return out.str();
  }
  void SetRNGState(const std::string& text) const override { std::istringstream(text) >> random_; }
  uint64_t Draw() const { return random_(); }

 private:
  // A bound of sums of 32-bit numbers.
  static double Bound(double value, double outwards) {
    return value == static_cast<float>(value) ? value : value + outwards;
  }
  mutable std::mt19937_64 random_;
};

// All that a state holds: it is copied and written as bytes.
struct Table {
  ${name}_state state;
  int begun;
  double gained[kSeats], returns[kSeats];
  uint64_t remembered[kSeats];  // a digest of what each seat saw and did at its own decisions
};

class ThisState : public State {
 public:
  explicit ThisState(std::shared_ptr<const Game> game) : State(game), table_() { table_.state.seat = ${NAME}_CHANCE; }
  ThisState(const ThisState&) = default;

  Player CurrentPlayer() const override {
    if (IsTerminal()) return kTerminalPlayerId;
    return table_.state.seat == ${NAME}_CHANCE ? kChancePlayerId : table_.state.seat;
  }
  bool IsTerminal() const override { return table_.state.seat == ${NAME}_OVER; }
  std::vector<Action> LegalActions() const override {
    if (IsTerminal()) return {};
    if (IsChanceNode()) return {0};
    int8_t mask[${NAME}_ACTIONS];
    ${name}_legal(Unlocked(), mask);
    std::vector<Action> found;
    for (int action = 0; action < ${NAME}_ACTIONS; ++action)
      if (mask[action]) found.push_back(action);
    return found;
  }
  std::vector<std::pair<Action, double>> ChanceOutcomes() const override { return {{0, 1.0}}; }
  std::string ActionToString(Player player, Action action) const override {
    return player == kChancePlayerId ? "drawn" : kActions[action];
  }
  std::string ToString() const override { return "state " + Hex(&table_.state, sizeof table_.state); }
  std::vector<double> Rewards() const override { return Balanced(table_.gained); }
  std::vector<double> Returns() const override { return Balanced(table_.returns); }
  std::string ObservationString(Player player) const override {
    std::ostringstream out;
    const std::vector<Number> seen = Seen(player);
    for (int field = 0, place = 0; field < static_cast<int>(sizeof kSizes / sizeof *kSizes); ++field) {
      out << (field ? "; " : "") << kFields[field];
      for (int end = place + kSizes[field]; place < end; ++place) out << ' ' << +seen[place];
    }
    return out.str();
  }
  std::string InformationStateString(Player player) const override {
    return Hex(&table_.remembered[player], 8) + "; " + ObservationString(player);
  }
  void ObservationTensor(Player player, absl::Span<float> values) const override {
    const std::vector<Number> seen = Seen(player);
    std::copy(seen.begin(), seen.end(), values.begin());
  }
  std::unique_ptr<State> Clone() const override { return std::unique_ptr<State>(new ThisState(*this)); }
  // What the other seats remember stays as it is: their cards are drawn again, their earlier decisions are not.
  std::unique_ptr<State> ResampleFromInfostate(int player, std::function<double()> random) const override {
    std::unique_ptr<ThisState> made(new ThisState(*this));
    const uint64_t high = static_cast<uint64_t>(random() * 4294967296.0);
    ${name}_determinize(&made->table_.state, player, high << 32 | static_cast<uint64_t>(random() * 4294967296.0));
    return made;
  }
  std::string Serialize() const override {
    std::string text = Hex(&table_, sizeof table_);
    for (const PlayerAction& one : history_) text += absl::StrCat(" ", one.player, " ", one.action);
    return text;
  }
  void Read(const std::string& text) {
    std::istringstream in(text);
    std::string bytes;
    in >> bytes;
    SPIEL_CHECK_EQ(bytes.size(), 2 * sizeof table_);
    for (size_t place = 0; place < sizeof table_; ++place)
      reinterpret_cast<unsigned char*>(&table_)[place] = std::stoi(bytes.substr(2 * place, 2), nullptr, 16);
    for (PlayerAction one; in >> one.player >> one.action; ++move_number_) history_.push_back(one);
  }

 protected:
  void DoApplyAction(Action action) override {
    std::fill_n(table_.gained, kSeats, 0.0);
    if (IsChanceNode()) {
      Chance();
    } else {
      uint64_t& digest = table_.remembered[table_.state.seat];
      const std::vector<Number> seen = Seen(table_.state.seat);
      const unsigned char* bytes = reinterpret_cast<const unsigned char*>(seen.data());
      for (size_t place = 0; place < sizeof(${name}_observation); ++place) digest = Mixed(digest, bytes[place]);
      digest = Mixed(digest, action);
      ${name}_step(&table_.state, action);
      Gain();
    }
  }

 private:
  void Chance() {
    const ThisGame& game = static_cast<const ThisGame&>(*game_);
    int32_t cards[${NAME}_DECK + 1];
    if (!table_.begun) ${name}_start(&table_.state, game.Draw() % ${NAME}_START_OUTCOMES);
    table_.begun = 1;
    while (table_.state.seat == ${NAME}_CHANCE) {
      ${name}_shuffle(cards, game.Draw());
      std::memset(table_.state.reward, 0, sizeof table_.state.reward);
      ${name}_deal(&table_.state, cards);
      Gain();
    }
  }
  static uint64_t Mixed(uint64_t digest, uint64_t value) {
    digest = (digest ^ value) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 29;
  }
  void Gain() {
    for (int seat = 0; seat < kSeats; ++seat) {
      table_.gained[seat] += table_.state.reward[seat];
      table_.returns[seat] += table_.state.reward[seat];
    }
  }
  ${name}_state* Unlocked() const { return const_cast<${name}_state*>(&table_.state); }  // for functions that only read it
  std::vector<Number> Seen(Player player) const {
    std::vector<Number> numbers(kNumbers);
    if (table_.begun) ${name}_observe(Unlocked(), player, reinterpret_cast<${name}_observation*>(numbers.data()));
    return numbers;
  }
  // Rewards are 32-bit numbers: where they come to nothing in sum, that is made exact.
  static std::vector<double> Balanced(const double* gained) {
    std::vector<double> found(gained, gained + kSeats);
    if (!${zero_sum} || kSeats == 1) return found;
    double excess = 0;
    for (double one : found) excess += one / kSeats;
    for (double& one : found) one -= excess;
    return found;
  }
  static std::string Hex(const void* data, size_t size) {
    std::string text;
    for (size_t place = 0; place < size; ++place)
      for (int shift : {4, 0}) text += "0123456789abcdef"[static_cast<const unsigned char*>(data)[place] >> shift & 15];
    return text;
  }

  Table table_;
};

std::unique_ptr<State> ThisGame::NewInitialState() const {
  return std::unique_ptr<State>(new ThisState(shared_from_this()));
}

std::unique_ptr<State> ThisGame::DeserializeState(const std::string& text) const {
  std::unique_ptr<ThisState> made(new ThisState(shared_from_this()));
  made->Read(text);
  return made;
}

REGISTER_SPIEL_GAME(kType, [](const GameParameters& given) {
  return std::shared_ptr<const Game>(new ThisGame(given));
});
}  // namespace backalley_${name}
