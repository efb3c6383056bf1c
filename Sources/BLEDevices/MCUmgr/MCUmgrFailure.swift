/// A device's refusal of a request.
///
/// Source: Zephyr documentation, "SMP Protocol Specification" and "Application/software image management group";
/// `mgmt_defines.h` and `img_mgmt.h` of Zephyr for the numbers.
package struct MCUmgrFailure: Error, Hashable, Sendable {
    /// The group that defines `code`; `nil` if the protocol itself does.
    package var group: Int?
    package var code: Int
    /// The reason, as worded by the device.
    package var reason: String?
    /// Whether it answers a request that only asks.
    package var isOfReading = false
    /// Whether it may answer the first part of an image, for which the device looks for a slot.
    package var mayLackSlot = true

    package init(group: Int? = nil, code: Int, reason: String? = nil) {
        self.group = group
        self.code = code
        self.reason = reason
    }

    /// The failure in the body of an answer; `nil` if it reports success.
    package init?(_ body: CBORValue) {
        // Zephyr 3.4 and the nRF Connect SDK 2.4 call it "ret". Source: Zephyr documentation, "Migration guide to
        // Zephyr v3.5.0".
        if let error = body["err"] ?? body["ret"], let code = error["rc"]?.integer {
            guard code != 0 else { return nil }
            self.init(group: error["group"]?.integer, code: code, reason: body["rsn"]?.text)
        } else {
            guard let code = body["rc"]?.integer, code != 0 else { return nil }
            self.init(code: code, reason: body["rsn"]?.text)
        }
    }

    /// Whether the device does not support the command.
    ///
    /// The first devices with this protocol have no code for that: they have no entry for a command that they don't
    /// know. Source: Mynewt, `newtmgr.c`.
    package var isUnsupported: Bool { group == nil && (code == 8 || isOfReading && code == 5) }

    /// Whether a retry may succeed: the device is busy, timed out, has no buffer free for its answer, or has the memory
    /// for an upload in use.
    package var isPassing: Bool {
        switch group {
        case nil, 0: code == 10 || code == 4 || lacksBuffers
        case 1: code == 15 || code == 16
        default: false
        }
    }

    /// Whether all buffers of the device hold requests, so that it has none for an answer: it says that it is out of
    /// memory. Some devices say the same of a first part if no slot is free.
    ///
    /// Source: Zephyr, `smp_process_request_packet`.
    package var lacksBuffers: Bool { group == nil && code == 2 && !mayLackSlot && slotInUse == nil }

    /// Whether the device has found a request shorter than its header says.
    package var isCut: Bool { group == nil && code == 9 }

    /// Whether another upload has the memory for one. An upload that nobody goes on with has it until a reset.
    ///
    /// Source: Zephyr, `img_mgmt_write_image_data`, with the context on the heap.
    package var isHeldByUpload: Bool { group == 1 && code == 16 }

    /// Why a device can't accept another image.
    package enum SlotUse: Hashable, Sendable {
        /// Every slot holds an image that is running, confirmed or pending.
        case taken
        /// An image is pending: it runs after the next reset.
        case pending
    }

    /// What occupies the image's place; `nil` if the failure has another reason.
    package var slotInUse: SlotUse? {
        switch (group, code) {
        case (1, 9): .taken
        case (1, 28): .pending
        // Source: mcumgr, and Zephyr 3.1, `img_mgmt.c`.
        case (nil, 2), (nil, 5): reason == Self.noSlot ? .taken : nil
        default: nil
        }
    }

    /// Whether the image does not fit into the device.
    package var isTooLarge: Bool {
        switch (group, code) {
        case (1, 30), (1, 31): true
        // Some devices give the same reason, with other codes, if no slot is free.
        case (nil, 3): reason == Self.noSlot
        default: false
        }
    }

    /// The reason of devices with the original protocol, whose codes have several meanings.
    private static let noSlot = "no slot"

    /// Whether the device rejects this image in principle.
    package var isWrongImage: Bool { group == 1 && [22, 23, 25, 29].contains(code) }

    /// Whether the device rejects the image since it runs a newer one.
    package var isDowngrade: Bool { group == 1 && code == 27 }

    /// Whether the device confirms no image but the one that runs.
    ///
    /// Source: Zephyr, `img_mgmt_state.c`, without `CONFIG_MCUMGR_GRP_IMG_ALLOW_CONFIRM_NON_ACTIVE_SLOT`.
    package var isConfirmationDenied: Bool { group == 1 && code == 32 }

    private static let general = [
        1: "unknown error", 2: "out of memory", 3: "invalid value", 4: "timed out", 5: "no such entry",
        6: "not in this state", 7: "too long", 8: "not supported", 9: "corrupt", 10: "busy", 11: "access denied",
        12: "protocol too old", 13: "protocol too new",
    ]

    private static let image = [
        1: "unknown error", 3: "no image in the slot", 8: "the image has no hash", 9: "no free slot",
        10: "flash can't be opened", 11: "flash can't be read", 12: "flash can't be written",
        13: "flash can't be erased", 14: "no such slot", 15: "out of memory", 16: "another upload is under way",
        20: "the offset is missing",
        21: "the length is missing", 22: "the image is shorter than its header",
        23: "it is not an image for this boot loader", 24: "the hash is invalid",
        25: "the image is linked for another address", 27: "a newer version is installed",
        28: "an image is pending already", 29: "the vector table is invalid", 30: "the image is too large",
        31: "more data than the image has", 32: "confirmation is denied", 33: "the image is the active one",
    ]
}

extension MCUmgrFailure: CustomStringConvertible {
    /// `the image is too large (group 1, code 30)`.
    package var description: String {
        let name = (group == nil || group == 0 ? Self.general[code] : group == 1 ? Self.image[code] : nil)
        let number = (group.map { "group \($0), " } ?? "") + "code \(code)"
        let text = name.map { "\($0) (\(number))" } ?? number
        return text + (reason.map { ": \($0)" } ?? "")
    }
}
