public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// The adapters of this machine, usable or not, by number; this needs no permission.
    ///
    /// - Throws: ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel,
    ///   ``BLEError/Code/permissionDenied`` if the system doesn't let this program open Bluetooth sockets.
    public static func adapters() throws(BLEError) -> [AdapterInfo] { try adapters(of: .ofThisMachine) }

    static func adapters(of kernel: Kernel) throws(BLEError) -> [AdapterInfo] {
        do throws(SystemError) {
            return try FileDescriptor.hciSocket(of: kernel).adapters().map {
                AdapterInfo($0, name: "hci\($0.number)", on: kernel)
            }
        } catch {
            throw .noBluetooth(error, operation: "list adapters", object: "of this machine", on: kernel)
        }
    }

    public func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        symptoms.observe(events)
    }

    /// Switches the adapter through the management socket, which requires the capability `CAP_NET_ADMIN`. Switching on
    /// enables Low Energy too.
    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        power(isOn) { sink.finish($0) }
        return RadioActivity { sink.close() }
    }

    /// - Parameter mark: the beginning of the reset that this is a part of; `nil`: the program wishes it.
    private func power(
        _ isOn: Bool,
        partOf mark: PowerWish? = nil,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        let operation = isOn ? "switch on" : "switch off"
        let finish = powerWork.begin(result)
        loop.enqueue { [self] in
            guard let facts = adapter.facts else {
                return finish(.failure(adapter.whyUnusable(for: operation, object: adapter.name)))
            }
            if mark == nil { leftovers.forgetPower(of: facts) }
            guard let management else {
                return finish(.failure(adapter.missingAdministration(for: operation, object: adapter.name)))
            }
            let told = EventSink<Result<Void, BLEError>> { [watch] outcome in
                watch.look()
                finish(outcome)
            }
            PowerSwitch(
                isOn,
                partOf: mark,
                insists: false,
                management,
                adapter,
                loop: loop,
                timeline: timeline,
                sink: told
            ).begin()
        }
    }

    /// Switches the adapter off and on through the management socket, which requires the capability `CAP_NET_ADMIN`. If
    /// the program is killed in between, the next program of this library switches it on; if the adapter goes away in
    /// between, this one does when it is back, unless bluetoothd runs or may run.
    public func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let finish = powerWork.begin(result)
        loop.enqueue { [self] in
            guard let facts = adapter.facts else {
                return finish(.failure(adapter.whyUnusable(for: "switch off", object: adapter.name)))
            }
            guard let management else {
                return finish(.failure(adapter.missingAdministration(for: "switch off", object: adapter.name)))
            }
            let off = PowerBreak(
                facts: facts,
                management: management,
                adapter: adapter,
                leftovers: leftovers,
                loop: loop,
                timeline: timeline,
                watch: watch
            )
            off.begin { [watch] done in
                watch.look()
                done(.success(()))
            } _: { [watch] outcome in
                watch.look()
                finish(outcome)
            }
        }
    }

    /// Resets the adapter's USB device, whose driver is bound again, as if it were unplugged and plugged in; an adapter
    /// that was on, or that a failed power cycle has left off, is switched on again. A device with further functions is
    /// reset as a whole. It requires permission to write to the device's file in `/dev/bus/usb`, and `CAP_NET_ADMIN`
    /// for an adapter that is switched on again.
    ///
    /// Source: kernel, `Documentation/driver-api/usb/usb.rst`, `USBDEVFS_RESET`.
    public func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        let sink = EventSink(result)
        let finish = powerWork.begin { (outcome: Result<Void, BLEError>) in sink.finish(outcome) }
        loop.enqueue { [self] in
            guard let facts = adapter.facts else {
                return finish(.failure(adapter.whyUnusable(for: "reset", object: adapter.name)))
            }
            let note: @Sendable () -> LeftoverNote? = { [leftovers] in
                leftovers.note(KernelThing(.off, 0, of: facts))
            }
            // A plan resets a controller that could not be switched on again: it is off, but was on.
            let isLeftOff = leftovers.left(on: facts).contains { $0.thing.kind == .off }
            let system = AdapterReset.System.of(adapter.kernel)
            let mark = PowerWish.mark(breaking: facts)
            let isOverruled: @Sendable () -> Bool = { mark.contrary(to: true) == .granted }
            AdapterReset(
                self,
                system: system,
                isLeftOff: isLeftOff,
                switchingOn: { [self] in power(true, partOf: mark, result: $0) },
                noting: note,
                unless: isOverruled
            ) { [loop, watch] outcome in
                loop.enqueue {
                    watch.look()
                    finish(outcome)
                }
            }.begin()
        }
        return RadioActivity { sink.close() }
    }
}
