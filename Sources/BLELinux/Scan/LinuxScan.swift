internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One scan, in the way that the kernel permits: the management socket, otherwise raw HCI packets, otherwise an error
/// that says what is needed. Trying shows which.
final class LinuxScan: Sendable {
    private struct State {
        var way: (any ScanWay)?
        /// Reports that the adapter can no longer be used, to a scan by HCI or by a monitor.
        var watch: RadioActivity?
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
        guard let management = radio.management else { return scanByHCI(otherwise: missingCapability) }
        go(
            ManagementScan(request, management: management, place: radio.scanPlace, sink: sink) {
                [weak self] in self?.managementFailed($0)
            }
        )
        // The kernel doesn't send a program the events of its own commands, and keeps a monitor while the adapter is
        // off; a discovery ends.
        if !request.isActive { watchAdapter() }
    }

    func cancel() {
        sink.close()
        end()
    }

    private func managementFailed(_ failure: ScanFailure) {
        guard case .management(let failure) = failure else { return finish(wasRemoved) }
        let error = failure.error(operation: "scan", object: radio.adapter.name, adapter: radio.adapter)
        switch failure.status {
        case .permissionDenied: scanByHCI(otherwise: error)
        // The controller or the kernel doesn't support a monitor, but can scan passively.
        case .notSupported where !request.isActive:
            scanByHCI(otherwise: error, withoutRight: .monitorsNotAll(radio.adapter))
        case .unknownCommand where !request.isActive: scanByHCI(otherwise: error)
        case .noResources where !request.isActive: scanByHCI(otherwise: .noFreeMonitor(radio.adapter.name))
        default: finish(error)
        }
    }

    /// - Parameters:
    ///   - otherwise: why the first way failed; the error if this way fails too.
    ///   - withoutRight: the error if the program may not go this way; `nil`: the same.
    private func scanByHCI(otherwise: BLEError, withoutRight: BLEError? = nil) {
        do throws(SystemError) {
            try FileDescriptor.checkScanningByHCI(on: radio.adapter.kernel)
        } catch {
            return hciFailed(.system(error), withoutRight ?? otherwise)
        }
        guard let management = radio.management else { return scanByHCI(nil, otherwise: otherwise) }
        // This requires no permission.
        management.submit(ManagementReadInformation()) { [self] answer in
            guard !state.withLock({ $0.isOver }) else { return }
            // The kernel would pass this program's commands to a controller that another program has for itself.
            if case .failure(let failure) = answer, failure.status == .invalidIndex {
                return finish(failure.error(operation: "scan", object: radio.adapter.name, adapter: radio.adapter))
            }
            scanByHCI(try? answer.get().current, otherwise: otherwise)
        }
    }

    /// - Parameter settings: the adapter's settings, if known.
    private func scanByHCI(_ settings: ManagementSettings?, otherwise: BLEError) {
        let facts: AdapterFacts
        do throws(BLEError) {
            facts = try radio.adapter.usable(for: "scan", object: radio.adapter.name)
        } catch {
            return finish(error)
        }
        do throws(SystemError) {
            let scan = try HCIScan(
                request,
                adapter: facts,
                of: radio.adapter.kernel,
                settings: settings,
                loop: radio.loop,
                timeline: radio.timeline,
                sink: sink
            ) { [weak self] in self?.hciFailed($0, otherwise) }
            go(scan)
            watchAdapter()
        } catch {
            hciFailed(.system(error), otherwise)
        }
    }

    /// Linux tells a raw socket that its adapter was removed, but not that it was switched off: the controller has
    /// forgotten the scan then, even if the adapter is on again. Source: kernel, `net/bluetooth/hci_sock.c`,
    /// `hci_sock_dev_event`.
    ///
    /// All that the kernel has told by then is looked at first: an adapter that was removed may have another program's
    /// monitor by now, which a scan that ends would take for its own.
    private func watchAdapter() {
        let watch = radio.watch.observe { [weak self, management = radio.management] info in
            let act: @Sendable () -> Void = { [weak self] in self?.adapterIs(info.state) }
            if let management { management.whenRead(act) } else { act() }
        }
        let isSuperfluous = state.withLock { state in
            guard !state.isOver, state.watch == nil else { return true }
            state.watch = watch
            return false
        }
        if isSuperfluous { watch.cancel() }
    }

    private func adapterIs(_ now: AdapterInfo.State) {
        switch now {
        case .poweredOff, .blocked, .absent:
            finish(radio.adapter.whyUnusable(for: "scan", object: radio.adapter.name, told: now))
        case .poweredOn, .unauthorized, .unsupported, .unknown, .resetting: break
        }
    }

    private func hciFailed(_ failure: ScanFailure, _ otherwise: BLEError) {
        if !radio.adapter.isUp { return finish(radio.adapter.whyUnusable(for: "scan", object: radio.adapter.name)) }
        switch failure {
        case .controller(let status):
            finish(
                BLEError(
                    .systemFailure,
                    operation: "scan",
                    object: radio.adapter.name,
                    cause: "the controller refused to scan, with the HCI status \(status)",
                    remedy: "Switch the adapter off and on with `Central.powerCycle()`."
                )
            )
        case .silent(let opcode):
            let command = "HCI command 0x\(String(opcode, radix: 16, uppercase: true))"
            finish(.controllerSilent(command, operation: "scan", object: radio.adapter.name))
        // The other error asks for a permission, which would not help against a shortage.
        case .system(let error) where error.isShortage:
            let call = "scanning by a raw HCI socket"
            finish(.system(error, call: call, operation: "scan", object: radio.adapter.name))
        case .removed: finish(wasRemoved)
        case .system, .management:
            finish(otherwise)
        }
    }

    /// The adapter was removed; by the time that this is read, it may be there again, and on.
    private var wasRemoved: BLEError {
        radio.adapter.whyUnusable(for: "scan", object: radio.adapter.name, told: .absent)
    }

    private var missingCapability: BLEError {
        radio.adapter.missingAdministration(for: "scan", object: radio.adapter.name)
    }

    private func go(_ way: any ScanWay) {
        let isOver = state.withLock { state in
            if !state.isOver { state.way = way }
            return state.isOver
        }
        if !isOver { way.begin() }
    }

    private func finish(_ error: BLEError) {
        end()
        sink.finish(.failed(error))
    }

    private func end() {
        let (wasRunning, way, watch) = state.withLock { state in
            defer {
                state.isOver = true
                state.way = nil
                state.watch = nil
            }
            return (!state.isOver, state.way, state.watch)
        }
        watch?.cancel()
        way?.cancel()
        if wasRunning { radio.isScanning.withLock { $0 = false } }
    }
}

extension LinuxRadio {
    /// The place of this radio's scans.
    fileprivate var scanPlace: ScanPlace {
        ScanPlace(
            loop: loop,
            timeline: timeline,
            adapter: { [adapter] in adapter.facts },
            removals: { [adapter] in adapter.seenRemovals },
            leftovers: leftovers,
            hasNeighbour: { [adapter] in Bluetoothd.presenceByProcesses(on: adapter.kernel) == .here }
        )
    }
}

extension BLEError {
    /// A controller that matches patterns itself reports what matches, and nothing else.
    fileprivate static func monitorsNotAll(_ adapter: LinuxAdapter) -> BLEError {
        let name = adapter.name
        var error = BLEError.missingCapability(.rawNetwork, operation: "scan", object: name, on: adapter.kernel)
        error.cause =
            "the kernel can't monitor all advertisements on \(name), and the other way to scan passively requires the "
            + "capability CAP_NET_RAW, which this program lacks"
        error.remedy += " Or scan actively."
        return error
    }

    /// The kernel keeps the monitors of programs that have ended, also while the adapter is off.
    fileprivate static func noFreeMonitor(_ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "scan",
            object: adapter,
            cause: "all advertisement monitors of \(adapter) are in use, perhaps for programs that have ended",
            remedy: "Scan actively; or reset the adapter with `Central.reset()`, or unplug it and plug it in again: "
                + "that removes them."
        )
    }

    static func alreadyScanning(_ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "scan",
            object: adapter,
            cause: "this radio is already scanning",
            remedy: "Share the reports of one scan."
        )
    }
}
