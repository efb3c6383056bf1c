import BLEProtocol
import BLERadio

/// The deadlines of the two machines, on one timer.
///
/// Requests come and go much faster than they time out: the timer that is set stays set, and looks again when it fires.
extension Bearer {
    struct Alarms {
        /// Which timer of the client half runs, and when it is due.
        var client: (id: GATTClient.TimerID, due: Duration)?
        var server: (id: ATTServer.IndicationID, due: Duration)?
        /// The one timer that is scheduled, and for when.
        var timer: RadioActivity?
        var time: Duration?

        mutating func cancel() {
            client = nil
            server = nil
            timer?.cancel()
            timer = nil
        }
    }

    /// - Returns: when the time will be over.
    func setAlarm(in duration: Duration, _ state: inout State) -> Duration {
        let due = timeline.now + duration
        if let time = state.alarms.time, time <= due { return due }
        state.alarms.timer?.cancel()
        state.alarms.time = due
        state.alarms.timer = timeline.schedule(after: duration) { [weak self] in self?.alarmRang() }
        return due
    }

    private func alarmRang() {
        change { state, effects in
            state.alarms.time = nil
            let now = timeline.now
            if let timer = state.alarms.client {
                if timer.due <= now {
                    state.alarms.client = nil
                    take(state.client.timerFired(timer.id), &state, &effects)
                } else {
                    _ = setAlarm(in: timer.due - now, &state)
                }
            }
            if let timer = state.alarms.server {
                if timer.due <= now {
                    state.alarms.server = nil
                    take(state.server.timerFired(timer.id), &state, &effects)
                } else {
                    _ = setAlarm(in: timer.due - now, &state)
                }
            }
        }
    }
}
