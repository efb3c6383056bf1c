internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One advertising instance of the kernel, from the free number that it is given until it is removed.
///
/// The kernel keeps an instance when the socket that made it is closed, suspends a connectable one while a central is
/// connected, and loses all of them when the adapter is switched off or bluetoothd starts.
final class Advertisement: Sendable {
    private struct State {
        var instance: UInt8?
        var observation: RadioActivity?
        var hasStarted = false
        var isOver = false
    }

    private let request: AdvertiseRequest
    private let radio: LinuxRadio
    private let sink: EventSink<AdvertiseEvent>
    private let state = Mutex(State())

    init(_ request: AdvertiseRequest, on radio: LinuxRadio, sink: EventSink<AdvertiseEvent>) {
        self.request = request
        self.radio = radio
        self.sink = sink
    }

    /// Starts, on the loop's thread.
    func begin() {
        do throws(BLEError) {
            _ = try radio.adapter.usable(for: "advertise", object: radio.adapter.name)
        } catch {
            return fail(error)
        }
        guard let management = radio.management else {
            return fail(.missingCapability(.networkAdministration, operation: "advertise", object: radio.adapter.name))
        }
        let observation = management.observe { [weak self] events in
            for event in events { self?.received(event.event) }
        }
        state.withLock { if !$0.isOver { $0.observation = observation } }
        chooseInstance(management)
    }

    /// Ends the advertising; the kernel is told before this returns, unless it owes an answer.
    func cancel() {
        sink.close()
        end()
    }

    private func chooseInstance(_ management: ManagementSocket) {
        management.submit(ManagementReadAdvertisingFeatures()) { [self] answer in
            switch answer {
            case .failure(let failure):
                fail(failure)
            case .success(let features):
                do throws(BLEError) {
                    try check(features)
                    guard let free = features.freeInstance else { throw noFreeInstance(features) }
                    add(free, management)
                } catch {
                    fail(error)
                }
            }
        }
    }

    private func add(_ instance: UInt8, _ management: ManagementSocket) {
        if state.withLock({ $0.isOver }) { return }
        let command = ManagementAddAdvertising(
            instance: instance,
            flags: request.isConnectable ? .connectable : [],
            data: request.data,
            scanResponse: request.scanResponse
        )
        // The answer is waited for even after a cancellation: an instance that it tells of is removed.
        management.submit(command) { [self] answer in
            if case .failure(let failure) = answer { return fail(failure) }
            let (isOver, isFirst) = state.withLock { state in
                defer { state.hasStarted = true }
                if !state.isOver { state.instance = instance }
                return (state.isOver, !state.hasStarted)
            }
            if isOver {
                management.submit(ManagementRemoveAdvertising(instance: instance)) { _ in }
            } else if isFirst {
                sink.send(.started)
            }
        }
    }

    /// Lets further centrals come beside the one that has: the kernel has ended the advertising for it. Where the
    /// controller can't do both the kernel waits until that one has left.
    private func advertiseAgain() {
        guard request.isConnectable, let management = radio.management, let instance = state.withLock({ $0.instance })
        else { return }
        let command = ManagementAddAdvertising(
            instance: instance,
            flags: .connectable,
            data: request.data,
            scanResponse: request.scanResponse
        )
        management.submit(command) { [self] answer in
            guard state.withLock({ $0.isOver }) else {
                // The kernel removes an instance that it can't change, and says so to all others.
                if answer.failure != nil { chooseInstance(management) }
                return
            }
            // Ended meanwhile: the command may have put up what was taken down.
            management.submit(ManagementRemoveAdvertising(instance: instance)) { _ in }
        }
    }

    private func received(_ event: ManagementEvent) {
        switch event {
        case .newSettings(let settings) where !settings.contains(.powered):
            fail(radio.adapter.whyUnusable(for: "advertise", object: radio.adapter.name))
        case .indexRemoved, .extendedIndexRemoved:
            fail(radio.adapter.whyUnusable(for: "advertise", object: radio.adapter.name))
        case .deviceConnected(let connected) where !connected.flags.contains(.initiatedHere):
            advertiseAgain()
        case .advertisingRemoved(let instance):
            let wasOurs = state.withLock { state in
                guard state.instance == instance else { return false }
                state.instance = nil
                return true
            }
            // The adapter is going off, which is told next, or another program has cleared them all.
            if wasOurs, radio.adapter.isUp, let management = radio.management { chooseInstance(management) }
        default:
            break
        }
    }

    private func fail(_ failure: ManagementFailure) {
        fail(failure.error(operation: "advertise", object: radio.adapter.name, adapter: radio.adapter))
    }

    private func fail(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (instance, observation) = state.withLock { state in
            defer {
                state.isOver = true
                state.instance = nil
                state.observation = nil
            }
            return (state.instance, state.observation)
        }
        observation?.cancel()
        if let instance { radio.management?.submit(ManagementRemoveAdvertising(instance: instance)) { _ in } }
    }
}

// MARK: - What the controller can do

extension Advertisement {
    /// Whether the data fits.
    private func check(_ features: ManagementReadAdvertisingFeatures.Response) throws(BLEError) {
        let parts = [
            ("the advertising data", request.data.bytes.count, features.maximumData),
            ("the scan response", request.scanResponse.bytes.count, features.maximumScanResponse),
        ]
        for (name, count, limit) in parts where count > limit {
            throw BLEError(
                .overflow,
                operation: "advertise",
                object: radio.adapter.name,
                cause: "\(name) has \(count) octets, and \(radio.adapter.name) takes \(limit) at most",
                remedy: "Advertise \(count - Int(limit)) octets less: a shorter name, or fewer services."
            )
        }
    }

    private func noFreeInstance(_ features: ManagementReadAdvertisingFeatures.Response) -> BLEError {
        BLEError(
            .busy,
            operation: "advertise",
            object: radio.adapter.name,
            cause: "all \(features.maximumInstances) advertisements of \(radio.adapter.name) are taken",
            remedy: "End another program's advertisement, or remove all with \"sudo btmgmt clr-adv\"."
        )
    }
}

extension ManagementReadAdvertisingFeatures.Response {
    /// The highest number that no instance has; `nil` where all are taken.
    ///
    /// bluetoothd counts from 1, and doesn't look whether a number is taken: it would put its own instance in the place of
    /// ours, without a word to anybody.
    var freeInstance: UInt8? {
        guard maximumInstances > 0 else { return nil }
        return (1...maximumInstances).last { !instances.contains($0) }
    }
}
