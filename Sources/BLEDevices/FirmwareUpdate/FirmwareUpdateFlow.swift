import BLEProtocol
public import BLEStreams

/// Updates a device's firmware.
///
/// ```swift
/// let image = try FirmwareImage(file: "app_update.bin")
/// try await peripheral.withQueue { queue in
///     try await queue.connecting().run(FirmwareUpdateFlow(image))
/// }
/// ```
///
/// Parts are as large as the MTU allows, and sent without response if the device permits that; the socket and the
/// device's window pace them, so that the link is used fully but never flooded. If the link is lost and the queue may
/// reconnect, the upload continues at the octet that the device requests. With MCUmgr, a request that a busy device
/// rejects or leaves unanswered is repeated after a pause: see ``FirmwareUpdateFlow/MCUmgrOptions/retry``. A device
/// that tells no size of its buffer, and doesn't answer the first part, gets parts of half the size, down to 128
/// octets. If the link is lost before the device has answered its reset, or with the mode `testAndConfirm` before it
/// has carried that out, the flow asks it on the next link what it runs, and resets it again if it has not begun the
/// image; it sends three resets at most. Where the queue may not reconnect, the modes `test` and `confirm` then end
/// without knowing what the device runs. Otherwise they end once the device has dropped the link for its reset: what
/// comes next in a queue that connects meets the new image. At the end the device has verified the hash. An image that
/// it calls damaged is erased, unless it is marked to run, and the flow fails: the device would list it as if it were
/// right.
///
/// The phases of its progress: `prepare`, `upload` (in octets), `verify`, and with MCUmgr `test`, `reset`, `restart`,
/// `confirm`.
///
/// - Throws (when run): ``BLEError/Code/invalidArgument`` before anything is sent, if the image is too large or not for
///   the device; ``BLEError/Code/updateFailed`` with the device's reason; ``BLEError/Code/timedOut`` if the device
///   stalls; ``BLEError/Code/protocolViolation`` if its reports are impossible; ``BLEError/Code/disconnected`` if the
///   link can't be made again; ``BLEError/Code/notSupported`` if the device can't be updated this way;
///   `CancellationError`. After an error the flow has unsubscribed, and the device has its previous firmware; from the
///   phase `reset` on, it may instead run the new one, or start it at its next restart: on trial, or for good in the
///   mode `confirm`. A trial ends at the restart after that.
public struct FirmwareUpdateFlow: Command {
    /// How a device receives its firmware.
    public struct Method: Sendable {
        enum Kind: Sendable {
            case automatic(FirmwareUpdateFlow.MCUmgrOptions)
            case mcumgr(FirmwareUpdateFlow.MCUmgrOptions)
            case plain(FirmwareUpdateFlow.PlainProfile, model: UInt16?, Link.WriteKind?)
        }

        let kind: Kind

        /// Whichever protocol the device supports; MCUmgr if it supports both.
        public static let automatic = Method(kind: .automatic(FirmwareUpdateFlow.MCUmgrOptions()))

        /// Whichever protocol the device supports, with options for MCUmgr.
        public static func automatic(_ options: FirmwareUpdateFlow.MCUmgrOptions) -> Method {
            Method(kind: .automatic(options))
        }

        /// MCUmgr's Simple Management Protocol.
        public static func mcumgr(_ options: FirmwareUpdateFlow.MCUmgrOptions = FirmwareUpdateFlow.MCUmgrOptions())
            -> Method
        {
            Method(kind: .mcumgr(options))
        }

        /// The plain protocol.
        ///
        /// - Parameters:
        ///   - profile: its UUIDs.
        ///   - model: the model that the image is for; other models are refused. `nil` accepts any model.
        ///   - kind: how to write the image; `nil`: without response if the device permits that.
        public static func plain(
            _ profile: FirmwareUpdateFlow.PlainProfile = .standard,
            model: UInt16? = nil,
            writing kind: Link.WriteKind? = nil
        ) -> Method {
            Method(kind: .plain(profile, model: model, kind))
        }
    }

    public var name: String { "update" }

    /// The firmware.
    public let image: FirmwareImage
    private let method: Method
    private let resume: RetryPolicy
    private let patience: Duration

    /// Describes an update.
    ///
    /// - Parameters:
    ///   - image: the firmware.
    ///   - method: how the device receives it.
    ///   - resume: how often in a row, without progress, and after what pause to reconnect when the link is lost.
    ///   - patience: how long a device with the plain protocol may tell nothing new: a status that only repeats the one
    ///     before does not count.
    public init(
        _ image: FirmwareImage,
        over method: Method = .automatic,
        resume: RetryPolicy = .exponential(attempts: 8),
        patience: Duration = .seconds(20)
    ) {
        self.image = image
        self.method = method
        self.resume = resume
        self.patience = patience
    }

    public func run(in context: CommandContext) async throws {
        switch method.kind {
        case .mcumgr(let options): try await mcumgr(options).run(in: context)
        case .plain(let profile, let model, let kind): try await plain(profile, model, kind).run(in: context)
        case .automatic(let options):
            context.begin("prepare")
            let hasMCUmgr = try await context.resuming(resume) {
                let hasMCUmgr = try await context.hasService(MCUmgrExchange.service)
                let hasPlain = try await context.hasService(FirmwareUpdateFlow.PlainProfile.standard.service)
                guard hasMCUmgr || hasPlain else {
                    throw BLEError.cannotUpdate(
                        context,
                        "the device has neither the service of MCUmgr nor that of the plain protocol"
                    )
                }
                return hasMCUmgr
            }
            if hasMCUmgr {
                try await mcumgr(options).run(in: context)
            } else {
                try await plain(.standard, nil, nil).run(in: context)
            }
        }
    }

    private func mcumgr(_ options: FirmwareUpdateFlow.MCUmgrOptions) -> MCUmgrUpdate {
        MCUmgrUpdate(image: image, options: options, resume: resume)
    }

    private func plain(_ profile: FirmwareUpdateFlow.PlainProfile, _ model: UInt16?, _ kind: Link.WriteKind?)
        -> PlainUpdate
    {
        PlainUpdate(image: image, profile: profile, model: model, kind: kind, resume: resume, patience: patience)
    }
}

extension BLEError {
    /// The device lacks what an update requires.
    static func cannotUpdate(_ context: CommandContext, _ cause: String) -> BLEError {
        .update(
            .notSupported,
            context,
            cause,
            "List its services with Link.discover(); the device may have to be put into its update mode first."
        )
    }
}
