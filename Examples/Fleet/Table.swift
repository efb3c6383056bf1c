import BLEDevices
import BLEStreams
import ConsoleOutput
import Glibc
import Synchronization

/// What is known about each sensor, a line each. On a terminal, the lines are updated in place; elsewhere, each change
/// of state and each value is a new line.
final class Table: Sendable {
    private struct Row {
        var name: String?
        var state = ""
        var values = 0
        var gaps = -1
        var beatsPerMinute: Int?
    }

    private struct State {
        var rows: [BluetoothAddress: Row] = [:]
        var order: [BluetoothAddress] = []
        var linesOnScreen = 0
        var drawn: ContinuousClock.Instant?

        mutating func change(_ address: BluetoothAddress, _ body: (inout Row) -> Void) {
            if rows[address] == nil { order.append(address) }
            body(&rows[address, default: Row()])
        }
    }

    private let isRewritten = canRewriteLines(on: STDOUT_FILENO)
    private let state = Mutex(State())

    /// A sensor was heard.
    func name(_ address: BluetoothAddress, _ name: String?) {
        state.withLock { $0.change(address) { $0.name = name } }
    }

    /// A session has changed its state.
    func show(_ change: Session.Transition) {
        guard let address = change.session.peripheral?.address else { return }
        state.withLock { state in
            state.change(address) { row in
                row.state = "\(change.state)"
                if change.state.isReady { row.gaps += 1 }
            }
            tell(address, &state, isUrgent: true)
        }
    }

    /// A sensor has sent a value.
    func show(_ item: Session.Value) {
        guard let address = item.peripheral?.address else { return }
        let beat = try? TypedCharacteristic.heartRateMeasurement.value(of: item.value)
        state.withLock { state in
            state.change(address) { row in
                row.values += 1
                row.beatsPerMinute = beat?.beatsPerMinute ?? row.beatsPerMinute
            }
            tell(address, &state, isUrgent: false)
        }
    }

    private func tell(_ address: BluetoothAddress, _ state: inout State, isUrgent: Bool) {
        if isRewritten { draw(&state, isUrgent: isUrgent) } else { print(line(address, state)) }
    }

    /// Overwrites all lines, for values at most ten times a second.
    private func draw(_ state: inout State, isUrgent: Bool) {
        let now = ContinuousClock.now
        if !isUrgent, let drawn = state.drawn, now - drawn < .milliseconds(100) { return }
        state.drawn = now
        var text = state.linesOnScreen > 0 ? "\u{1B}[\(state.linesOnScreen)A" : ""
        for address in state.order { text += "\r\(line(address, state))\u{1B}[K\n" }
        state.linesOnScreen = state.order.count
        print(text, terminator: "")
    }

    private func line(_ address: BluetoothAddress, _ state: borrowing State) -> String {
        guard let row = state.rows[address] else { return "\(address)" }
        let columns = [
            "\(address)", (row.name ?? "").fitted(to: 12), row.state.fitted(to: 46),
            (row.beatsPerMinute.map { "\($0) bpm" } ?? "").fitted(to: 8), "\(row.values) values".fitted(to: 12),
            row.gaps > 0 ? "\(row.gaps) gaps" : "",
        ]
        return columns.joined(separator: "  ")
    }
}
