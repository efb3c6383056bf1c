import Campaigns
import Foundation

extension CampaignPlan {
    /// A plan that can't be used, and why.
    struct Fault: Error {
        var cause: String
    }

    /// Reads the payload of a message.
    static func reading(_ payload: [UInt8]) throws(Fault) -> CampaignPlan {
        let plan: CampaignPlan
        do {
            plan = try JSONDecoder().decode(CampaignPlan.self, from: Data(payload))
        } catch {
            throw Fault(cause: (error as? DecodingError).map { words(for: $0) } ?? "\(error)")
        }
        if let fault = plan.fault { throw Fault(cause: fault) }
        return plan
    }

    private static func words(for error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let field, _): "'\(field.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            context.codingPath.first.map { "'\($0.stringValue)' is not what the field must be" }
                ?? "it is not a JSON object"
        case .dataCorrupted(let context):
            context.codingPath.first.map { "'\($0.stringValue)': \(context.debugDescription)" }
                ?? String(context.debugDescription.reversed().drop { $0 == "." }.reversed())
        @unknown default: "\(error)"
        }
    }
}
