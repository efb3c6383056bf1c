/// The switches that block radios (rfkill), as sysfs shows them to every program.
///
/// Source: kernel, `Documentation/ABI/stable/sysfs-class-rfkill`.
enum RadioSwitches {
    /// What blocks an adapter.
    enum Block: Hashable {
        /// A program: `rfkill unblock` lifts it.
        case soft
        /// A switch or key on the machine.
        case hard
    }

    /// A blocked switch of the machine itself, such as a laptop's `tpacpi_bluetooth_sw`: it cuts the power of the
    /// adapter, which the kernel then doesn't have.
    struct Cut: Hashable {
        var name: String
        var block: Block
    }

    private static let folder = "/sys/class/rfkill"

    /// What blocks the adapter with this name; `nil` if nothing does, or the system has no such switches.
    static func block(of adapter: String, on kernel: Kernel) -> Block? {
        for entry in namesInFolder(folder, of: kernel) {
            guard textFile("\(folder)/\(entry)/name", of: kernel) == adapter else { continue }
            if let block = block(at: entry, on: kernel) { return block }
        }
        return nil
    }

    /// The switch that may be why there is no adapter; `nil` if there is none.
    static func cut(on kernel: Kernel) -> Cut? {
        for entry in namesInFolder(folder, of: kernel).sorted() {
            guard textFile("\(folder)/\(entry)/type", of: kernel) == "bluetooth",
                let name = textFile("\(folder)/\(entry)/name", of: kernel), LinuxAdapter.number(in: name) == nil,
                let block = block(at: entry, on: kernel)
            else { continue }
            return Cut(name: name, block: block)
        }
        return nil
    }

    private static func block(at entry: String, on kernel: Kernel) -> Block? {
        if textFile("\(folder)/\(entry)/hard", of: kernel) == "1" { return .hard }
        return textFile("\(folder)/\(entry)/soft", of: kernel) == "1" ? .soft : nil
    }
}
