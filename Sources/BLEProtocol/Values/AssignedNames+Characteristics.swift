extension AssignedNames {
    /// Characteristics.
    static let characteristics = """
        2A00 Device Name
        2A01 Appearance
        2A02 Peripheral Privacy Flag
        2A03 Reconnection Address
        2A04 Peripheral Preferred Connection Parameters
        2A05 Service Changed
        2A06 Alert Level
        2A07 Tx Power Level
        2A08 Date Time
        2A09 Day of Week
        2A0A Day Date Time
        2A0C Exact Time 256
        2A0D DST Offset
        2A0E Time Zone
        2A0F Local Time Information
        2A11 Time with DST
        2A12 Time Accuracy
        2A13 Time Source
        2A14 Reference Time Information
        2A16 Time Update Control Point
        2A17 Time Update State
        2A18 Glucose Measurement
        2A19 Battery Level
        2A1C Temperature Measurement
        2A1D Temperature Type
        2A1E Intermediate Temperature
        2A21 Measurement Interval
        2A22 Boot Keyboard Input Report
        2A23 System ID
        2A24 Model Number String
        2A25 Serial Number String
        2A26 Firmware Revision String
        2A27 Hardware Revision String
        2A28 Software Revision String
        2A29 Manufacturer Name String
        2A2A IEEE 11073-20601 Regulatory Certification Data List
        2A2B Current Time
        2A2C Magnetic Declination
        2A31 Scan Refresh
        2A32 Boot Keyboard Output Report
        2A33 Boot Mouse Input Report
        2A34 Glucose Measurement Context
        2A35 Blood Pressure Measurement
        2A36 Intermediate Cuff Pressure
        2A37 Heart Rate Measurement
        2A38 Body Sensor Location
        2A39 Heart Rate Control Point
        2A3F Alert Status
        2A40 Ringer Control Point
        2A41 Ringer Setting
        2A42 Alert Category ID Bit Mask
        2A43 Alert Category ID
        2A44 Alert Notification Control Point
        2A45 Unread Alert Status
        2A46 New Alert
        2A47 Supported New Alert Category
        2A48 Supported Unread Alert Category
        2A49 Blood Pressure Feature
        2A4A HID Information
        2A4B Report Map
        2A4C HID Control Point
        2A4D Report
        2A4E Protocol Mode
        2A4F Scan Interval Window
        2A50 PnP ID
        2A51 Glucose Feature
        2A52 Record Access Control Point
        2A53 RSC Measurement
        2A54 RSC Feature
        2A55 SC Control Point
        2A56 Digital
        2A58 Analog
        2A5A Aggregate
        2A5B CSC Measurement
        2A5C CSC Feature
        2A5D Sensor Location
        2A5E PLX Spot-Check Measurement
        2A5F PLX Continuous Measurement
        2A60 PLX Features
        2A63 Cycling Power Measurement
        2A64 Cycling Power Vector
        2A65 Cycling Power Feature
        2A66 Cycling Power Control Point
        2A67 Location and Speed
        2A68 Navigation
        2A69 Position Quality
        2A6A LN Feature
        2A6B LN Control Point
        2A6C Elevation
        2A6D Pressure
        2A6E Temperature
        2A6F Humidity
        2A70 True Wind Speed
        2A71 True Wind Direction
        2A72 Apparent Wind Speed
        2A73 Apparent Wind Direction
        2A74 Gust Factor
        2A75 Pollen Concentration
        2A76 UV Index
        2A77 Irradiance
        2A78 Rainfall
        2A79 Wind Chill
        2A7A Heat Index
        2A7B Dew Point
        2A7D Descriptor Value Changed
        2A7E Aerobic Heart Rate Lower Limit
        2A7F Aerobic Threshold
        2A80 Age
        2A81 Anaerobic Heart Rate Lower Limit
        2A82 Anaerobic Heart Rate Upper Limit
        2A83 Anaerobic Threshold
        2A84 Aerobic Heart Rate Upper Limit
        2A85 Date of Birth
        2A86 Date of Threshold Assessment
        2A87 Email Address
        2A88 Fat Burn Heart Rate Lower Limit
        2A89 Fat Burn Heart Rate Upper Limit
        2A8A First Name
        2A8B Five Zone Heart Rate Limits
        2A8C Gender
        2A8D Heart Rate Max
        2A8E Height
        2A8F Hip Circumference
        2A90 Last Name
        2A91 Maximum Recommended Heart Rate
        2A92 Resting Heart Rate
        2A93 Sport Type for Aerobic and Anaerobic Thresholds
        2A94 Three Zone Heart Rate Limits
        2A95 Two Zone Heart Rate Limits
        2A96 VO2 Max
        2A97 Waist Circumference
        2A98 Weight
        2A99 Database Change Increment
        2A9A User Index
        2A9B Body Composition Feature
        2A9C Body Composition Measurement
        2A9D Weight Measurement
        2A9E Weight Scale Feature
        2A9F User Control Point
        2AA0 Magnetic Flux Density - 2D
        2AA1 Magnetic Flux Density - 3D
        2AA2 Language
        2AA3 Barometric Pressure Trend
        2AA4 Bond Management Control Point
        2AA5 Bond Management Features
        2AA6 Central Address Resolution
        2AA7 CGM Measurement
        2AA8 CGM Feature
        2AA9 CGM Status
        2AAA CGM Session Start Time
        2AAB CGM Session Run Time
        2AAC CGM Specific Ops Control Point
        2AAD Indoor Positioning Configuration
        2AAE Latitude
        2AAF Longitude
        2AB0 Local North Coordinate
        2AB1 Local East Coordinate
        2AB2 Floor Number
        2AB3 Altitude
        2AB4 Uncertainty
        2AB5 Location Name
        2AB6 URI
        2AB7 HTTP Headers
        2AB8 HTTP Status Code
        2AB9 HTTP Entity Body
        2ABA HTTP Control Point
        2ABB HTTPS Security
        2ABC TDS Control Point
        2ABD OTS Feature
        2ABE Object Name
        2ABF Object Type
        2AC0 Object Size
        2AC1 Object First-Created
        2AC2 Object Last-Modified
        2AC3 Object ID
        2AC4 Object Properties
        2AC5 Object Action Control Point
        2AC6 Object List Control Point
        2AC7 Object List Filter
        2AC8 Object Changed
        2AC9 Resolvable Private Address Only
        2ACC Fitness Machine Feature
        2ACD Treadmill Data
        2ACE Cross Trainer Data
        2ACF Step Climber Data
        2AD0 Stair Climber Data
        2AD1 Rower Data
        2AD2 Indoor Bike Data
        2AD3 Training Status
        2AD4 Supported Speed Range
        2AD5 Supported Inclination Range
        2AD6 Supported Resistance Level Range
        2AD7 Supported Heart Rate Range
        2AD8 Supported Power Range
        2AD9 Fitness Machine Control Point
        2ADA Fitness Machine Status
        2ADB Mesh Provisioning Data In
        2ADC Mesh Provisioning Data Out
        2ADD Mesh Proxy Data In
        2ADE Mesh Proxy Data Out
        2AEA Count 16
        2AEC Country Code
        2AED Date UTC
        2AEE Electric Current
        2AF2 Energy
        2AF9 Generic Level
        2AFB Illuminance
        2AFF Luminous Flux
        2B04 Percentage 8
        2B05 Power
        2B0D Temperature 8
        2B18 Voltage
        2B1D RC Feature
        2B1E RC Settings
        2B1F Reconnection Configuration Control Point
        2B29 Client Supported Features
        2B2A Database Hash
        2B34 Enhanced Blood Pressure Measurement
        2B35 Enhanced Intermediate Cuff Pressure
        2B36 Blood Pressure Record
        2B3A Server Supported Features
        2B46 Preferred Units
        2B8C CO2 Concentration
        2BCF Ammonia Concentration
        2BD0 Carbon Monoxide Concentration
        2BD1 Methane Concentration
        2BD2 Nitrogen Dioxide Concentration
        2BD3 Non-Methane Volatile Organic Compounds Concentration
        2BD4 Ozone Concentration
        2BD5 Particulate Matter - PM1 Concentration
        2BD6 Particulate Matter - PM2.5 Concentration
        2BD7 Particulate Matter - PM10 Concentration
        2BD8 Sulfur Dioxide Concentration
        2BD9 Sulfur Hexafluoride Concentration
        2BE9 Battery Critical Status
        2BEA Battery Health Status
        2BEB Battery Health Information
        2BEC Battery Information
        2BED Battery Level Status
        2BEE Battery Time Status
        2BEF Estimated Service Date
        2BF0 Battery Energy Status
        """
}
