import BLEProtocol
import BLERadio
import Synchronization

/// The deadlines of the two halves, on one timer, and the waits of the database.
///
/// Requests come and go much faster than they time out, so a timer that is set stays set, and checks again when it
/// fires.
extension Bearer {
    struct Alarms {
        /// The running timer of the client half, and when it is due.
        var client: (id: GATTClient.TimerID, due: Duration)?
        var server: (id: ATTServer.IndicationID, due: Duration)?
        /// The only scheduled timer, and its time.
        var timer: RadioActivity?
        var time: Duration?

        mutating func cancel() {
            client = nil
            server = nil
            timer?.cancel()
            timer = nil
        }
    }

    func set(_ client: GATTClient.TimerCommand?, _ server: ATTServer.TimerCommand?, _ state: inout State) {
        switch client {
        case .start(let id, let duration)?: state.alarms.client = (id, setAlarm(in: duration, &state))
        case .stop?: state.alarms.client = nil
        case nil: break
        }
        switch server {
        case .start(let id, let duration)?: state.alarms.server = (id, setAlarm(in: duration, &state))
        case .stop?: state.alarms.server = nil
        case nil: break
        }
    }

    /// - Returns: when the timer is due.
    private func setAlarm(in duration: Duration, _ state: inout State) -> Duration {
        let due = timeline.now + duration
        if let time = state.alarms.time, time <= due { return due }
        state.alarms.timer?.cancel()
        state.alarms.time = due
        state.alarms.timer = timeline.schedule(after: duration) { [weak self] in self?.alarmRang() }
        return due
    }

    private func alarmRang() {
        let now = timeline.now
        let (client, server) = state.withLock { state in
            state.alarms.time = nil
            return (takeDue(\.client, now, &state)?.id, takeDue(\.server, now, &state)?.id)
        }
        step { machine, output in
            if let client { machine.take(machine.client.timerFired(client), &output) }
            if let server { machine.take(machine.server.timerFired(server), &output) }
        }
    }

    /// A timer that is this late shows that the program was stopped, or that the machine slept.
    private static let lateness = Duration.seconds(1)
    /// How much more time there is then to read what has come meanwhile: it waits in the socket, while timers fire at
    /// once.
    private static let grace = Duration.milliseconds(500)

    /// Takes a timer that is due; sets the alarm again for one that isn't due yet, or that is far too late.
    private func takeDue<ID>(
        _ timer: WritableKeyPath<Alarms, (id: ID, due: Duration)?>,
        _ now: Duration,
        _ state: inout State
    ) -> (id: ID, due: Duration)? {
        guard let found = state.alarms[keyPath: timer] else { return nil }
        if found.due > now {
            _ = setAlarm(in: found.due - now, &state)
            return nil
        }
        if now - found.due >= Self.lateness {
            let due = setAlarm(in: Self.grace, &state)
            state.alarms[keyPath: timer] = (found.id, due)
            return nil
        }
        state.alarms[keyPath: timer] = nil
        return found
    }

    func set(_ wait: LinkMachine.Wait, _ state: inout State) {
        switch wait {
        case .start(let number, let duration):
            state.waits[number] = timeline.schedule(after: duration) { [weak self] in
                guard let self else { return }
                _ = self.state.withLock { $0.waits.removeValue(forKey: number) }
                step { machine, output in machine.waited(number, &output) }
            }
        case .cancel(let number): state.waits.removeValue(forKey: number)?.cancel()
        }
    }
}
