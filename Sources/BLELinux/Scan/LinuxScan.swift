internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One scan, by whichever way the kernel permits.
final class LinuxScan: Sendable {
    private struct State {
        var way: ManagementScan?
        var isOver = false
    }

    private let request: ScanRequest
    private let radio: LinuxRadio
    private let sink: EventSink<ScanEvent>
    private let state = Mutex(State())

    init(_ request: ScanRequest, on radio: LinuxRadio, sink: EventSink<ScanEvent>) {
        self.request = request
        self.radio = radio
        self.sink = sink
    }

    /// Starts, on the loop's thread.
    func begin() {
        do throws(BLEError) {
            _ = try radio.adapter.usable(for: "scan", object: radio.adapter.name)
        } catch {
            return finish(error)
        }
        guard let management = radio.management else {
            return finish(.missingCapability(.networkAdministration, operation: "scan", object: radio.adapter.name))
        }
        let scan = ManagementScan(
            request,
            management: management,
            loop: radio.loop,
            timeline: radio.timeline,
            sink: sink
        ) { [weak self] failure in self?.failed(failure) }
        let isOver = state.withLock { state in
            if !state.isOver { state.way = scan }
            return state.isOver
        }
        if !isOver { scan.begin() }
    }

    func cancel() {
        sink.close()
        end()
    }

    private func failed(_ failure: ManagementFailure) {
        finish(failure.error(operation: "scan", object: radio.adapter.name, adapter: radio.adapter))
    }

    private func finish(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (wasRunning, way) = state.withLock { state in
            defer {
                state.isOver = true
                state.way = nil
            }
            return (!state.isOver, state.way)
        }
        way?.cancel()
        if wasRunning { radio.isScanning.withLock { $0 = false } }
    }
}

extension BLEError {
    static func alreadyScanning(_ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "scan",
            object: adapter,
            cause: "this radio scans already",
            remedy: "Share one scan among all who want its reports."
        )
    }
}
