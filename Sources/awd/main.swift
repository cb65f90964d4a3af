print("awd")
