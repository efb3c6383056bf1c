public import BLEProtocol
public import BLERadio

extension LinuxRadio {
    /// The adapters of this machine, whether they can be used or not, by number; everybody may ask.
    ///
    /// - Throws: ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel, ``BLEError/Code/permissionDenied``
    ///   where the system lets this program open no Bluetooth socket.
    public static func adapters() throws(BLEError) -> [AdapterInfo] {
        let numbers: [UInt16]
        do throws(SystemError) {
            numbers = try FileDescriptor.hciSocket().adapters().map(\.number)
        } catch {
            throw .noBluetooth(error, operation: "list adapters", object: "of this machine")
        }
        var found: [AdapterInfo] = []
        for number in numbers { found.append(try LinuxAdapter("hci\(number)").info) }
        return found
    }

    public func observeSymptoms(_ events: @escaping @Sendable (AdapterSymptom) -> Void) -> RadioActivity {
        symptoms.observe(events)
    }

    /// Switches the adapter through the management socket, which takes the capability `CAP_NET_ADMIN`. Switching on enables
    /// Low Energy too.
    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let sink = EventSink(result)
        let operation = isOn ? "switch on" : "switch off"
        loop.enqueue { [self] in
            guard adapter.facts != nil else {
                return sink.finish(.failure(adapter.whyUnusable(for: operation, object: adapter.name)))
            }
            guard let management else {
                let object = adapter.name
                return sink.finish(
                    .failure(.missingCapability(.networkAdministration, operation: operation, object: object))
                )
            }
            PowerSwitch(isOn, management, adapter, loop: loop, timeline: timeline, sink: sink).begin()
        }
        return RadioActivity { sink.close() }
    }
}
