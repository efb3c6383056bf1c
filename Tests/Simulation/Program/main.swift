// Runs whole worlds in virtual time, each drawn from its seed: peripherals, centrals, programs and what goes wrong.
//
//   swift run -c release Simulation --worlds 10000      so many, on all cores
//   swift run Simulation --seed 7 --trace               one, and what happens in it
//   swift run -c release Simulation --hours 8 --corpus seeds
//   swift run -c release Simulation --soak --csv soak.csv

import CLibrary
import SimulatedWorlds

exit(try await SimulationCommand.run(CommandLine.arguments.dropFirst()))
