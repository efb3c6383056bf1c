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
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            context.codingPath.first.map { field in
                let part = context.codingPath.count > 1 ? "each entry of '" : "'"
                return "\(part)\(field.stringValue)' must be \(words(for: type))"
            } ?? "it is not a JSON object"
        case .dataCorrupted(let context):
            context.codingPath.first.map { "'\($0.stringValue)': \(said(by: context))" } ?? said(by: context)
        @unknown default: "\(error)"
        }
    }

    private static func words(for type: Any.Type) -> String {
        switch type {
        case is Int.Type: "a whole number"
        case is Bool.Type: "true or false"
        case is String.Type: "a text in quotes"
        default: "a list"
        }
    }

    /// It may quote the plan, whose numbers are as long as one likes.
    private static func said(by context: DecodingError.Context) -> String {
        String(context.debugDescription.reversed().drop { $0 == "." }.reversed()).shown(limit: 300)
    }
}
