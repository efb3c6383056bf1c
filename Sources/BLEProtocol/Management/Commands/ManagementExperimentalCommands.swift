/// Reads which experimental features one controller has; it needs no privilege, and the kernel answers at once.
///
/// Source: BlueZ, doc/mgmt-api.txt, "Read Experimental Features Information Command".
package struct ManagementReadExperimentalFeatures: ManagementCommand {
    package static let opcode = ManagementOpcode.readExperimentalFeatures
    package static let scheduling = ManagementScheduling.immediately

    package init() {}

    package struct Response: ManagementResponse {
        /// Whether the controller can be central and peripheral at once: the kernel offers that if the controller
        /// claims it, and is not known to be wrong. Linux before 5.17 lists it for each controller, see
        /// ``hasRolesFlag``. Source: kernel, net/bluetooth/mgmt.c, `read_exp_features_info`;
        /// include/net/bluetooth/hci_core.h, `hci_dev_le_state_simultaneous`.
        package let combinesRoles: Bool
        /// The first flag of that feature: on Linux before 5.17, whether the controller has it; later, whether the
        /// kernel was told to use it.
        package let hasRolesFlag: Bool

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            let count = try reader.uint16("number of features")
            var (combinesRoles, hasRolesFlag) = (false, false)
            for _ in 0..<count {
                let uuid = try reader.bytes(16, "feature")
                let flags = try reader.uint32("flags of a feature")
                guard uuid.elementsEqual(Self.simultaneousRoles) else { continue }
                (combinesRoles, hasRolesFlag) = (true, flags & 1 != 0)
            }
            self.combinesRoles = combinesRoles
            self.hasRolesFlag = hasRolesFlag
        }

        /// 671b10b5-42c0-4696-9227-eb28d1b049d6, as it is sent.
        private static let simultaneousRoles: [UInt8] = [
            0xD6, 0x49, 0xB0, 0xD1, 0x28, 0xEB, 0x27, 0x92, 0x96, 0x46, 0xC0, 0x42, 0xB5, 0x10, 0x1B, 0x67,
        ]
    }
}
