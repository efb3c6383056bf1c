import BLEProtocol
import BLERadio

// Serves again after interruptions of the radio.
extension PeripheralServer {
    /// Serves for the first time; if that fails for a reason that may pass, tries again as the policy says.
    func startServing() async throws {
        guard let resuming else {
            try await start()
            return serving.set(.serving)
        }
        try await start(again: resuming, after: nil, failures: 0)
    }

    /// Serves again whenever the radio has stopped, until the peripheral gives up or the task is cancelled.
    func keepServing() async {
        guard let resuming else { return }
        var (failures, since) = (0, radio.timeline.now)
        for await interruption in serving.interruptions {
            if radio.timeline.now - since >= resuming.stableAfter { failures = 0 }
            do {
                failures = try await start(again: resuming, after: interruption, failures: failures)
                since = radio.timeline.now
            } catch let error as BLEError {
                return giveUp(error)
            } catch {
                return
            }
        }
    }

    /// Tries until it is served, as the policy says; an adapter that is off or absent doesn't count, however briefly.
    ///
    /// - Parameters:
    ///   - error: the error of the previous attempts; `nil` before the first one.
    ///   - failures: the number of consecutive failures so far.
    /// - Returns: the number of consecutive failures in the end.
    /// - Throws: the last error if the policy allows no more attempts, or if another one can't help;
    ///   `CancellationError`.
    @discardableResult
    private func start(again policy: RetryPolicy, after error: BLEError?, failures: Int) async throws -> Int {
        var (error, failures) = (error, failures)
        // How many attempts in a row have failed because of the adapter, which was on when they began.
        var refusals = 0
        while true {
            let adapter = radio.adapterInfo
            if let off = adapter.state.error(operation: "serve", object: adapter.name) {
                // Waiting doesn't change such a state.
                if adapter.state.isFinal { throw off }
                interrupted(by: off)
                refusals = 0
                try await radio.waitUntilOn(nil, operation: "serve")
            } else if let error, error.isAboutAdapter, refusals < 2 {
                // It is on again by now. If a second attempt meets the same, more than a moment's outage is the reason.
                interrupted(by: error)
                try await pause(for: ConnectMachine.adapterRest, on: radio.timeline)
            } else if let error {
                failures += 1
                guard let delay = policy.delay(afterFailure: failures, random: radio.timeline.randomBits()) else {
                    throw error
                }
                interrupted(by: error)
                try await pause(for: delay, on: radio.timeline)
            }
            serving.set(.starting)
            do {
                try await start()
                serving.set(.serving)
                return failures
            } catch let failure as BLEError where !failure.isFinal {
                error = failure
                refusals = failure.isAboutAdapter ? refusals + 1 : 0
            }
        }
    }

    private func interrupted(by error: BLEError) {
        // Whatever the radio was doing when it stopped, the program serves.
        let error = error.about("serve", error.object)
        warnings.tell(.interrupted(error.code)) { _ in error }
        if case .interrupted = serving.current { return }
        serving.set(.interrupted(error))
    }
}
