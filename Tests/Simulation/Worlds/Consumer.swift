import BLESimulator
import BLEStreams
import Synchronization

/// Who takes the values of a stream, and compares each with what has reached the central: order, nothing twice, and
/// nothing missing that isn't told as a gap.
final class Consumer: Sendable {
    /// What can be said of a stream.
    enum Promise: Sendable {
        /// Every value, or a gap that counts those that are missing.
        case complete
        /// The order only: operators leave some out.
        case order
    }

    private struct Place {
        /// The place of the value that came last, among those that arrived.
        var index: Int
        /// What gaps have told since.
        var dropped = 0
        var wasInterrupted = false
        /// Whether it has given up by itself, as with more than its buffer has room for: what came behind is nobody's.
        var hasGivenUp = false
    }

    private struct State {
        var places: [AirWatch.Route: Place] = [:]
        var count = 0
    }

    private let world: World
    private let central: Int
    private let name: String
    private let promise: Promise
    private let state = Mutex(State())

    init(_ world: World, central: Int, _ name: String, _ promise: Promise) {
        self.world = world
        self.central = central
        self.name = name
        self.promise = promise
    }

    /// How many values it has taken.
    var count: Int { state.withLock { $0.count } }

    func take(_ octets: some Collection<UInt8>) {
        state.withLock { $0.count += 1 }
        // What a fault has changed may be anything.
        guard let value = NumberedValue(octets) else { return }
        let route = AirWatch.Route(central: central, peripheral: value.peripheral, channel: value.channel)
        let former = state.withLock { $0.places[route] }
        var index = former.map { $0.index + 1 } ?? 0
        var missed: [AirWatch.Arrival] = []
        while let arrival = world.watch.arrival(index, on: route), arrival.value != value {
            missed.append(arrival)
            index += 1
        }
        guard let arrival = world.watch.arrival(index, on: route) else {
            return world.report("\(name) has \(value), which came before, or twice, or never arrived", "order")
        }
        if promise == .complete, let former { compare(missed, former, arrival, route) }
        state.withLock { $0.places[route] = Place(index: index) }
    }

    func take(_ gap: StreamGap) {
        state.withLock { state in
            for route in state.places.keys {
                state.places[route]?.dropped += gap.dropped
                guard let reason = gap.reason else { continue }
                state.places[route]?.wasInterrupted = true
                if (reason as? BLEError)?.code != .disconnected { state.places[route]?.hasGivenUp = true }
            }
        }
    }

    /// Compares what lies between two values with what the gaps told.
    private func compare(
        _ missed: [AirWatch.Arrival],
        _ former: Place,
        _ next: AirWatch.Arrival,
        _ route: AirWatch.Route
    ) {
        guard !former.hasGivenUp, let last = world.watch.arrival(former.index, on: route),
            world.watch.isCountable(last.link)
        else { return }
        let tail = missed.filter { $0.link == last.link && $0.isCertain }.count
        if last.link == next.link, !former.wasInterrupted {
            if tail != former.dropped {
                world.report(
                    "\(name) misses \(tail) values before \(next.value), and is told of \(former.dropped)",
                    "lost"
                )
            }
        } else if last.link != next.link, let end = world.watch.end(of: last.link), end.kind != .closedLocally,
            end.kind != .adapterOff, tail > former.dropped
        {
            world.report("\(name) misses the last \(tail) values of link \(last.link), which ended: \(end)", "lost")
        }
    }
}
