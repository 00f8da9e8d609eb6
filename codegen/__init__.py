"""The proposers: what code could the next variant be?"""
