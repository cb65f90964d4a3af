import Testing
import XMLSecurity
