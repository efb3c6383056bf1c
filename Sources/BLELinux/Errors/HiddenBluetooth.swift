/// Bluetooth that the kernel has, but gives this program no socket of: outside the machine's network namespace, and
/// under a filter of systemd, the error is that of a kernel without Bluetooth.
///
/// Source: kernel, `net/bluetooth/af_bluetooth.c`, `bt_sock_create`; systemd.exec(5), `RestrictAddressFamilies=`.
struct HiddenBluetooth: Hashable, Sendable {
    /// The names of the adapters that the kernel shows all the same.
    private let adapters: [String]
    private let surroundings: ProcessRights.Surroundings

    /// `nil` if there is no sign that the kernel has Bluetooth, or another error.
    init?(_ error: SystemError, on kernel: Kernel) {
        guard error == .addressFamilyNotSupported else { return nil }
        // Connections are shown there, too.
        adapters = namesInFolder("/sys/class/bluetooth", of: kernel).filter { LinuxAdapter.number(in: $0) != nil }
            .sorted()
        guard !adapters.isEmpty else { return nil }
        surroundings = ProcessRights(of: kernel).surroundings
    }

    var cause: String {
        "this machine has the adapter\(adapters.count == 1 ? "" : "s") \(adapters.joined(separator: ", ")), but the "
            + "program is kept from Bluetooth sockets, by a filter or a network namespace"
    }

    /// What to do where the program runs.
    var remedy: String {
        switch surroundings {
        case .shell:
            "Run it in the machine's network (not under unshare --net or ip netns; a container: docker run "
                + "--network=host), and without a filter of address families."
        case .service(let unit):
            "Run \"sudo systemctl edit \(unit)\", add below [Service] \"RestrictAddressFamilies=AF_BLUETOOTH\" if the "
                + "unit restricts them, and \"PrivateNetwork=no\" if it has a network of its own, then \"sudo systemctl "
                + "restart \(unit)\"."
        case .container:
            "Start the container in the machine's network (docker run --network=host; Kubernetes: hostNetwork: true)."
        }
    }
}
